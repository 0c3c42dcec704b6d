"""Durations and sizes as typed on the command line."""

from __future__ import annotations

import pytest

from cagematch.problems.errors import InputError
from cagematch.scheduler.cli.units import mebibytes, seconds


@pytest.mark.parametrize(
    ("text", "value"), [("3", 3), ("3s", 3), ("500ms", 0.5), (" 1.5 m ", 90), ("2min", 120), ("1h", 3600)]
)
def test_durations_are_converted_to_seconds(text, value):
    assert seconds(text) == value


@pytest.mark.parametrize(
    ("text", "value"), [("512", 512), ("512MiB", 512), ("2GiB", 2048), ("1gb", 954), ("0.5g", 512), ("1mb", 1)]
)
def test_sizes_are_converted_to_mebibytes(text, value):
    assert mebibytes(text) == value


@pytest.mark.parametrize("text", ["", "s", "-3s", "0", "3 weeks", "nan", "inf", "1e9", "3s3s", "9" * 400])
def test_an_invalid_duration_is_refused(text):
    with pytest.raises(InputError, match="expected a duration such as"):
        seconds(text)


@pytest.mark.parametrize("text", ["169h", "999999h"])
def test_a_duration_over_a_week_is_refused(text):
    with pytest.raises(InputError, match=r"at most 168h \(a week\)"):
        seconds(text)
