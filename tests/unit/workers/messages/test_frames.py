"""Frames: bytes into complete frames, and anything else into an error."""

from __future__ import annotations

import pytest

from cagematch.workers.messages.frames import HEADER, LONGEST, MAGIC, Frame, FrameError, FrameReader, Kind, framed

ONE = framed(Kind.RUN, b"first", 7)
TWO = framed(Kind.ANSWER, b"", -3)


def test_frames_are_complete_however_the_bytes_arrive() -> None:
    for step in range(1, len(ONE + TWO) + 1):
        reader, data = FrameReader(), ONE + TWO

        found = [frame for at in range(0, len(data), step) for frame in reader.feed(data[at : at + step])]

        assert found == [Frame(Kind.RUN, 7, ONE), Frame(Kind.ANSWER, -3, TWO)]
        assert [frame.body for frame in found] == [b"first", b""]


@pytest.mark.parametrize(
    "data",
    [
        b"{",
        b"rubbish\n",
        MAGIC[:1] + b"x",
        ONE + b"rubbish",
        HEADER.pack(MAGIC, 99, 0, 1),
        HEADER.pack(MAGIC, Kind.RUN, LONGEST + 1, 1),
    ],
)
def test_other_bytes_are_an_error_at_once(data: bytes) -> None:
    """Also where fewer bytes arrived than a header has: a reader that waited for more would hang."""
    with pytest.raises(FrameError, match="expected the header of a frame"):
        FrameReader().feed(data)


def test_an_incomplete_header_is_not_an_error() -> None:
    assert FrameReader().feed(ONE[: HEADER.size - 1]) == []
