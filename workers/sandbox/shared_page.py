"""The page of memory that a keeper and a sandbox share.

The sandbox writes which run it is at and since when, so that the keeper can hold the limits without a
message a run; the keeper writes the memory of the run's other processes, so that the sandbox can
report it. One writer a field; the number is written last and read on both sides of the rest.
"""

from __future__ import annotations

import mmap
import os
import struct
from dataclasses import dataclass

SIZE = mmap.PAGESIZE
_RUN = struct.Struct("=qqqq")  # number, started (monotonic ns), CPU ns used before, warm-up?
_NUMBER = struct.Struct("=q")
_OTHERS = struct.Struct("=qq")  # number, peak KiB
_OTHERS_AT = 64


@dataclass(frozen=True, slots=True)
class Running:
    """A run under way: its number, when it began (monotonic ns), the CPU ns that its process had used."""

    number: int
    started_ns: int
    cpu_ns: int
    warm_up: bool


class Page:
    """Both ends use the same class over the same file descriptor."""

    def __init__(self, fd: int) -> None:
        self._map = mmap.mmap(fd, SIZE)

    @staticmethod
    def create() -> int:
        """Make an anonymous file of one page and return its descriptor."""
        fd = os.memfd_create("cagematch-page")
        os.ftruncate(fd, SIZE)
        return fd

    def begin(self, number: int, started_ns: int, cpu_ns: int, *, warm_up: bool) -> None:
        """Sandbox: run ``number`` starts (numbers start at 1)."""
        _RUN.pack_into(self._map, 0, 0, started_ns, cpu_ns, warm_up)
        _NUMBER.pack_into(self._map, 0, number)

    def end(self) -> None:
        """Sandbox: nothing is under way."""
        _NUMBER.pack_into(self._map, 0, 0)

    def running(self) -> Running | None:
        """Keeper: the run under way, if there is one."""
        number, started_ns, cpu_ns, warm_up = _RUN.unpack_from(self._map, 0)
        if not number or _NUMBER.unpack_from(self._map, 0)[0] != number:
            return None
        return Running(number, started_ns, cpu_ns, bool(warm_up))

    def tell_others(self, number: int, peak_kib: int) -> None:
        """Keeper: processes beside the sandbox had up to ``peak_kib`` at once together with it."""
        _OTHERS.pack_into(self._map, _OTHERS_AT, number, peak_kib)

    def others_kib(self, number: int) -> int:
        """Sandbox: the peak told for the run, 0 when none was."""
        told, peak = _OTHERS.unpack_from(self._map, _OTHERS_AT)
        return int(peak) if told == number else 0

    def close(self) -> None:
        """Give the memory back."""
        self._map.close()
