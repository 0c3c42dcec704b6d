"""Summaries printed while puzzle files are loaded, and the format of an export by its file name."""

from __future__ import annotations

from types import SimpleNamespace

import pytest

from cagematch.problems.errors import InputError
from cagematch.scheduler.cli.files import announce
from cagematch.scheduler.reports.export import format_of


def test_only_very_large_batches_are_announced(capsys):
    loaded = [SimpleNamespace(distinct=100), SimpleNamespace(distinct=10)]

    announce(loaded, None, 90_000)
    announce(loaded, 50, 1_000_000)

    assert capsys.readouterr().err == "this batch has 60,000,000 runs; Ctrl-C stops it\n"


def test_the_file_name_decides_the_format():
    assert [format_of(name) for name in ("a.csv", "b/c.JSONL")] == ["csv", "jsonl"]


@pytest.mark.parametrize(
    ("name", "message"), [("a.txt", r"\.csv or \.jsonl"), ("17", r"`scheduler export 17 runs\.csv`")]
)
def test_an_unknown_file_extension_is_refused(name, message):
    with pytest.raises(InputError, match=message):
        format_of(name)
