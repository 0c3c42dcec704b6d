"""Lines of JSON between worker, keeper and sandbox, and the descriptors that a sandbox is started with."""

from __future__ import annotations

import json
from typing import Any

Message = dict[str, Any]

RUNS_FD, ANSWERS_FD, PAGE_FD = 3, 4, 5
RETIRED = 75  # a sandbox's exit code: replace me, no run is to blame
LONGEST = 1 << 24  # bytes in a line; an answer has some thousands

_ENCODER = json.JSONEncoder(separators=(",", ":"), allow_nan=False)


class NotALine(Exception):
    """What came is longer than any message is."""


def encode(message: Message) -> bytes:
    """One message as one line."""
    return _ENCODER.encode(message).encode() + b"\n"


class Lines:
    """Bytes in, whole lines out."""

    def __init__(self) -> None:
        self._rest = b""

    def feed(self, data: bytes) -> list[bytes]:
        """Take bytes as they come; return each line that is complete, without its end."""
        *whole, self._rest = (self._rest + data).split(b"\n")
        if len(self._rest) > LONGEST:
            raise NotALine(f"{len(self._rest)} bytes and no end of line")
        return whole
