"""Lines of JSON between worker, keeper and sandbox, and the descriptors that a sandbox is started with."""

from __future__ import annotations

import json
from collections.abc import Iterator
from typing import Any

Message = dict[str, Any]

RUNS_FD, ANSWERS_FD, PAGE_FD = 3, 4, 5


def encode(message: Message) -> bytes:
    """One message as one line."""
    return json.dumps(message, separators=(",", ":")).encode() + b"\n"


class Lines:
    """Bytes in, whole lines out."""

    def __init__(self) -> None:
        self._rest = b""

    def feed(self, data: bytes) -> Iterator[bytes]:
        """Take bytes as they come; yield each line that is complete, without its end."""
        *whole, self._rest = (self._rest + data).split(b"\n")
        yield from whole
