"""Processes and their descendants: usage, signals, reaping and CPU affinity."""

from __future__ import annotations

import ctypes
import os
import signal
import threading
import time
from collections.abc import Callable, Collection, Iterator
from contextlib import suppress
from dataclasses import dataclass
from functools import cache

from cagematch.workers.machine import procfs
from cagematch.workers.machine.procfs import GONE, environment_value, process_ids, stat_fields
from cagematch.workers.machine.units import BYTES_PER_KIB

TICKS = os.sysconf("SC_CLK_TCK")  # Clock ticks per second, the unit of times in /proc.
PAGE_KIB = os.sysconf("SC_PAGE_SIZE") // BYTES_PER_KIB  # KiB per page of memory.

# Options of prctl(2).
PR_SET_PDEATHSIG = 1
PR_SET_CHILD_SUBREAPER = 36

# Seconds to reap the killed before listing descendants again: dying processes may have started more.
# Listing a hundred processes takes 5 ms.
RELIST_S = 0.020
REAP_PAUSE_S, LONGEST_REAP_PAUSE_S, REAP_PAUSE_GROWTH = 0.0005, 0.005, 1.2

# Bytes: the kernel cuts a list of children at the end of a page, so a longer one may be incomplete.
CHILDREN_PAGE = 4096
COMPLETE_CHILDREN = CHILDREN_PAGE - 8


@dataclass(frozen=True, slots=True)
class Usage:
    """What one process uses.

    Parameters
    ----------
    state
        The letter of proc_pid_stat(5), such as ``R`` or ``T``.
    cpu_s
        CPU seconds, with those of its reaped children.
    rss_kib
        Resident memory in KiB.
    """

    state: str
    cpu_s: float
    rss_kib: int


def prctl(option: int, value: int) -> None:
    """Call prctl(2).

    Raises
    ------
    OSError
        The kernel refuses the option or its value.
    """
    libc = ctypes.CDLL(None, use_errno=True)
    if libc.prctl(option, value, 0, 0, 0) != 0:
        raise OSError(ctypes.get_errno(), f"prctl({option}, {value})")


def children(pid: int) -> Iterator[int]:
    """Yield the direct children of a process, whichever of its threads started them."""
    if not _lists_children():
        yield from (child for child in process_ids() if _parent(child) == pid)
        return
    try:
        for thread in os.listdir(f"/proc/{pid}/task"):
            with open(f"/proc/{pid}/task/{thread}/children", "rb", buffering=0) as file:
                yield from map(int, file.readall().split())
    except GONE:
        return


@cache
def _lists_children() -> bool:
    """Whether the kernel was built with lists of children (CONFIG_PROC_CHILDREN); most are."""
    return os.path.exists(f"/proc/self/task/{threading.get_native_id()}/children")  # noqa: PTH110


def _parent(pid: int) -> int | None:
    fields = stat_fields(pid)
    return int(fields[procfs.PPID]) if fields else None


def descendants(pid: int, spare: Collection[int] = ()) -> list[int]:
    """Return every process below ``pid``, parents first, without those in ``spare`` and their descendants."""
    found: list[int] = []
    todo = [pid]
    while todo:
        for child in children(todo.pop()):
            if child not in spare:
                found.append(child)
                todo.append(child)
    return found


def usage(pid: int) -> Usage | None:
    """Return what a process uses, None when it has ended or is a zombie."""
    return _usage(stat_fields(pid))


def _usage(fields: list[bytes] | None) -> Usage | None:
    if not fields or not procfs.is_alive(fields):
        return None
    used = sum(map(int, fields[procfs.UTIME : procfs.STIME_OF_REAPED])) / TICKS
    return Usage(fields[procfs.STATE].decode(), used, int(fields[procfs.RSS]) * PAGE_KIB)


class Watched:
    """A process that is sampled a hundred times per second.

    Its files in /proc stay open: reading an open file takes a quarter of the time of opening and reading it.

    Raises
    ------
    FileNotFoundError
        The process has ended.
    """

    def __init__(self, pid: int) -> None:
        self.pid = pid
        self._stat = os.open(f"/proc/{pid}/stat", os.O_RDONLY)
        self._children = os.open(f"/proc/{pid}/task/{pid}/children", os.O_RDONLY) if _lists_children() else None
        self._threads = 1

    def usage(self) -> Usage | None:
        """Return what the process uses, None when it has ended."""
        try:
            fields = procfs.parse_stat(os.pread(self._stat, procfs.STAT_BYTES, 0))
        except GONE:
            return None
        self._threads = int(fields[procfs.THREADS])
        return _usage(fields)

    def children(self) -> list[int]:
        """Return its direct children.

        Call it after ``usage``, which counts the threads: the open file lists the children of the first thread only.
        """
        if self._children is None or self._threads != 1:
            return list(children(self.pid))
        try:
            found = os.pread(self._children, CHILDREN_PAGE, 0)
        except GONE:
            return []
        return list(map(int, found.split())) if len(found) <= COMPLETE_CHILDREN else list(children(self.pid))

    def close(self) -> None:
        """Close its files."""
        os.close(self._stat)
        if self._children is not None:
            os.close(self._children)


def pss_kib(pid: int) -> int:
    """Return resident KiB with each shared page divided among its sharers, 0 when the process has ended."""
    try:
        with open(f"/proc/{pid}/smaps_rollup", "rb") as file:
            return next((int(line.split()[1]) for line in file if line.startswith(b"Pss:")), 0)
    except OSError:
        return 0


def kill(pids: Collection[int]) -> None:
    """Send SIGKILL to each process; ignore those that have ended and those of another user."""
    for pid in pids:
        with suppress(ProcessLookupError, PermissionError):
            os.kill(pid, signal.SIGKILL)


Ended = dict[int, tuple[int, float]]  # By process: its wait status and its CPU seconds.


def reap() -> Ended:
    """Collect every child that has ended."""
    ended: Ended = {}
    while True:
        try:
            pid, status, used = os.wait4(-1, os.WNOHANG)
        except ChildProcessError:
            return ended
        if pid == 0:
            return ended
        ended[pid] = (status, used.ru_utime + used.ru_stime)


def end_all(spare: Collection[int] = (), within_s: float = 10.0) -> Ended:
    """Kill and reap every descendant of this process but those in ``spare``, for ``within_s`` seconds at most.

    This process must be the reaper of its descendants: the orphans of killed processes then become its children,
    and the loop ends when no child is left.
    """
    ended: Ended = {}
    deadline = time.monotonic() + within_s
    while left := descendants(os.getpid(), spare):
        kill(left)
        ended |= _reap_all_of(left)
        if time.monotonic() > deadline:
            break
    return ended | reap()


def _reap_all_of(pids: Collection[int], within_s: float = RELIST_S) -> Ended:
    """Reap until all of these have ended or the time is over."""
    ended: Ended = {}
    deadline = time.monotonic() + within_s
    pause = REAP_PAUSE_S
    while not ended.keys() >= set(pids) and time.monotonic() < deadline:
        time.sleep(pause)
        pause = min(LONGEST_REAP_PAUSE_S, pause * REAP_PAUSE_GROWTH)  # The kernel needs time to free gigabytes.
        ended |= reap()
    return ended


def end_marked(mark: str, within_s: float = 2.0) -> None:
    """Kill every process that started with ``mark`` (``NAME=value``) in its environment."""
    name, _, value = mark.partition("=")
    end_matching(lambda pid: environment_value(pid, name) == value, within_s)


def end_matching(matches: Callable[[int], bool], within_s: float) -> None:
    """Kill every process but this one for which ``matches`` returns True, until none is left or the time is over."""
    deadline = time.monotonic() + within_s
    while left := [pid for pid in process_ids() if pid != os.getpid() and matches(pid)]:
        kill(left)
        if time.monotonic() > deadline:
            break
        time.sleep(0.002)


def pin(pid: int, cores: Collection[int]) -> None:
    """Restrict every thread of a process to the given cores; ignore a process that has ended."""
    with suppress(*GONE):
        for thread in os.listdir(f"/proc/{pid}/task"):
            with suppress(ProcessLookupError):
                os.sched_setaffinity(int(thread), cores)
