"""The page of memory that a keeper and a sandbox share.

The sandbox writes which run is in flight and since when, so the keeper enforces limits without a message per run. The
keeper writes the memory of the run's other processes, so the sandbox can report it. Each field has one writer. The
number is written last, and read before and after the other fields.
"""

from __future__ import annotations

import mmap
import os
import struct
from typing import NamedTuple

SIZE = mmap.PAGESIZE
_RUN = struct.Struct("=qqqq")  # number, started (monotonic ns), CPU ns used before, warm-up?
_NUMBER = struct.Struct("=q")
_OTHERS = struct.Struct("=qq")  # number, peak KiB
_OTHERS_AT = 64


class Running(NamedTuple):
    """A run in flight.

    Attributes
    ----------
    number
        The number of the run.
    started_ns
        Monotonic time of its start, in ns.
    cpu_ns
        CPU time that the process had used before it, in ns.
    warm_up
        Whether this is the warm-up before the run.
    """

    number: int
    started_ns: int
    cpu_ns: int
    warm_up: bool


class Page:
    """Keeper and sandbox use the same class on the same file descriptor."""

    def __init__(self, fd: int) -> None:
        self._map = mmap.mmap(fd, SIZE)

    @staticmethod
    def create() -> int:
        """Create an anonymous file of one page and return its descriptor."""
        fd = os.memfd_create("cagematch-page")
        os.ftruncate(fd, SIZE)
        return fd

    def begin(self, number: int, started_ns: int, cpu_ns: int, *, warm_up: bool) -> None:
        """Sandbox: run ``number`` (1 or more) starts."""
        _RUN.pack_into(self._map, 0, 0, started_ns, cpu_ns, warm_up)
        _NUMBER.pack_into(self._map, 0, number)

    def end(self) -> None:
        """Sandbox: no run is in flight."""
        _NUMBER.pack_into(self._map, 0, 0)

    def running(self) -> Running | None:
        """Keeper: the run in flight, or None."""
        number, started_ns, cpu_ns, warm_up = _RUN.unpack_from(self._map, 0)
        if not number or _NUMBER.unpack_from(self._map, 0)[0] != number:
            return None
        return Running(number, started_ns, cpu_ns, bool(warm_up))

    def report_others(self, number: int, peak_kib: int) -> None:
        """Keeper: the sandbox and its descendants had up to ``peak_kib`` in memory at once."""
        _OTHERS.pack_into(self._map, _OTHERS_AT, number, peak_kib)

    def others_kib(self, number: int) -> int:
        """Sandbox: the peak reported for the run, 0 without a report."""
        reported, peak = _OTHERS.unpack_from(self._map, _OTHERS_AT)
        return int(peak) if reported == number else 0

    def close(self) -> None:
        """Unmap the page."""
        self._map.close()
