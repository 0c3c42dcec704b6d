"""The control messages: each one comes back as it was sent, without the library of the run protocol."""

from __future__ import annotations

import subprocess
import sys

import pytest

from cagematch.workers.messages.control import (
    KINDS,
    Abort,
    Aborted,
    Control,
    KeeperFailed,
    LeaseCores,
    LeasedCores,
    ReleaseCores,
    decode_control,
    encode_control,
)
from cagematch.workers.messages.frames import FrameError, FrameReader, Kind, framed

MESSAGES = [
    LeaseCores(4),
    ReleaseCores(),
    Abort(),
    LeasedCores([0]),
    LeasedCores([0, 3, 250]),
    Aborted(),
    KeeperFailed("no locks: \N{GREEK SMALL LETTER PI}"),
]


@pytest.mark.parametrize("message", MESSAGES, ids=repr)
def test_control_message_round_trip(message: Control) -> None:
    (frame,) = FrameReader().feed(encode_control(message))

    found = decode_control(frame)

    assert type(found) is type(message)
    assert found == message


def test_every_control_message_is_covered() -> None:
    assert {type(message) for message in MESSAGES} == set(KINDS)
    assert set(KINDS.values()) == set(Kind) - {Kind.SETTINGS, Kind.RUN, Kind.ANSWER}


@pytest.mark.parametrize("kind", [Kind.SETTINGS, Kind.RUN, Kind.ANSWER])
def test_other_kinds_are_no_control_messages(kind: Kind) -> None:
    (frame,) = FrameReader().feed(framed(kind, b"body", 1))

    assert decode_control(frame) is None


def test_invalid_core_list() -> None:
    (frame,) = FrameReader().feed(framed(Kind.CORES, b"0,one"))

    with pytest.raises(FrameError, match="expected core numbers"):
        decode_control(frame)


def test_keeper_starts_without_heavy_libraries() -> None:
    """What a keeper imports before the first settings arrive decides how long its start takes."""
    heavy = ("msgspec", "dataclasses", "inspect", "json", "shutil", "sqlalchemy", "celery", "ortools")
    code = f"import cagematch.workers.keeper.__main__, sys; print([m for m in {heavy!r} if m in sys.modules])"

    done = subprocess.run([sys.executable, "-P", "-c", code], capture_output=True, text=True, check=True, timeout=60)

    assert done.stdout.strip() == "[]"
