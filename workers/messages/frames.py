"""Frames: how messages travel as bytes between worker, keeper and sandbox.

A frame is a fixed header and a body. The header names the message's kind and its run, so the keeper can forward an
answer without decoding it.
"""

from __future__ import annotations

import struct
from enum import IntEnum
from typing import NamedTuple

RUNS_FD, ANSWERS_FD, PAGE_FD = 3, 4, 5  # the file descriptors a sandbox is started with
MAGIC = b"\xc3M"  # no text in UTF-8 starts with these two bytes
HEADER = struct.Struct("=2sBxIq")  # magic, kind, length of the body in bytes, number of the run
LONGEST = 1 << 24  # bytes in a body; an answer has a few hundred


class FrameError(Exception):
    """The bytes received are not a frame."""


class Kind(IntEnum):
    """The kind of a message, as the header states it."""

    SETTINGS = 1
    RUN = 2
    ANSWER = 3
    LEASE = 4
    RELEASE = 5
    ABORT = 6
    CORES = 7
    ABORTED = 8
    FAILED = 9


KINDS = frozenset(Kind)


class Frame(NamedTuple):
    """One complete frame.

    Attributes
    ----------
    kind
        What the body holds.
    number
        The run that the message is about; 0 for other messages.
    data
        Header and body as received, ready to be forwarded.
    """

    kind: int
    number: int
    data: bytes

    @property
    def body(self) -> bytes:
        """The encoded message."""
        return self.data[HEADER.size :]


def framed(kind: Kind, body: bytes, number: int = 0) -> bytes:
    """Put a header in front of an encoded message."""
    return HEADER.pack(MAGIC, kind, len(body), number) + body


class FrameReader:
    """Turns a stream of bytes into complete frames."""

    def __init__(self) -> None:
        self._rest = b""

    def feed(self, data: bytes) -> list[Frame]:
        """Take bytes as they arrive and return each frame that is complete.

        Raises
        ------
        FrameError
            The bytes do not start a frame, or the body is longer than LONGEST.
        """
        self._rest += data
        rest, at, frames = self._rest, 0, []
        while len(rest) - at >= HEADER.size:
            magic, kind, length, number = HEADER.unpack_from(rest, at)
            if magic != MAGIC or kind not in KINDS or length > LONGEST:
                raise FrameError(f"expected the header of a frame, found {rest[at : at + HEADER.size]!r}")
            end = at + HEADER.size + length
            if end > len(rest):
                break
            frames.append(Frame(kind, number, rest[at:end]))
            at = end
        self._rest = rest[at:]
        if not MAGIC.startswith(self._rest[: len(MAGIC)]):
            raise FrameError(f"expected the header of a frame, found {self._rest[: HEADER.size]!r}")
        return frames
