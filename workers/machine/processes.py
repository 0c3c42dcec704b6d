"""Processes as /proc shows them: who descends from whom, what they use, and how to end them all."""

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

TICKS = os.sysconf("SC_CLK_TCK")
PAGE_KIB = os.sysconf("SC_PAGE_SIZE") // 1024
PR_SET_PDEATHSIG = 1
PR_SET_CHILD_SUBREAPER = 36
LOOK_AGAIN_S = 0.020  # between two looks for what dying processes have started; to look at a hundred takes 5 ms
PPID, UTIME, STIME_OF_REAPED, THREADS, RSS = 1, 11, 15, 17, 21  # fields of /proc/pid/stat after the name, from 0
LISTED = 4096 - 8  # bytes; a longer list of children may go on: the kernel cuts it at the end of a page
GONE = (FileNotFoundError, ProcessLookupError)


@dataclass(frozen=True, slots=True)
class Usage:
    """One process: its state letter, CPU seconds with those of its reaped children, resident KiB."""

    state: str
    cpu_s: float
    rss_kib: int


def prctl(option: int, value: int) -> None:
    """Call prctl(2), or raise OSError."""
    libc = ctypes.CDLL(None, use_errno=True)
    if libc.prctl(option, value, 0, 0, 0) != 0:
        raise OSError(ctypes.get_errno(), f"prctl({option}, {value})")


def children(pid: int) -> Iterator[int]:
    """The direct children of a process, whichever of its threads started them."""
    if not _lists_children():
        yield from (child for child in everybody() if _parent(child) == pid)
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


def everybody() -> Iterator[int]:
    """Every process that can be seen from here."""
    return (int(name) for name in os.listdir("/proc") if name.isdigit())


def _parent(pid: int) -> int | None:
    fields = fields_of(pid)
    return int(fields[PPID]) if fields else None


def fields_of(pid: int) -> list[bytes] | None:
    """The fields of /proc/pid/stat after the name; None when the process is gone."""
    try:
        with open(f"/proc/{pid}/stat", "rb", buffering=0) as file:
            return file.read(1024).rpartition(b")")[2].split()
    except GONE:
        return None


def descendants(pid: int, spare: Collection[int] = ()) -> list[int]:
    """Every process below ``pid``, parents first, without those in ``spare`` and what is below them."""
    found: list[int] = []
    todo = [pid]
    while todo:
        for child in children(todo.pop()):
            if child not in spare:
                found.append(child)
                todo.append(child)
    return found


def usage(pid: int) -> Usage | None:
    """What a process uses; None when it is gone, or dead and waiting to be reaped."""
    return _usage(fields_of(pid))


def _usage(fields: list[bytes] | None) -> Usage | None:
    if not fields or fields[0] in b"ZX":
        return None
    used = sum(map(int, fields[UTIME:STIME_OF_REAPED])) / TICKS
    return Usage(fields[0].decode(), used, int(fields[RSS]) * PAGE_KIB)


class Watched:
    """A process that is looked at a hundred times a second: what is read of it stays open, at a quarter of the cost."""

    def __init__(self, pid: int) -> None:
        self.pid = pid
        self._stat = os.open(f"/proc/{pid}/stat", os.O_RDONLY)
        listed = _lists_children()
        self._children = os.open(f"/proc/{pid}/task/{pid}/children", os.O_RDONLY) if listed else None
        self._threads = 1

    def usage(self) -> Usage | None:
        """What the process uses; None when it is gone."""
        try:
            fields = os.pread(self._stat, 1024, 0).rpartition(b")")[2].split()
        except GONE:
            return None
        self._threads = int(fields[THREADS])
        return _usage(fields)

    def children(self) -> list[int]:
        """Its direct children. Ask after ``usage``, which tells whether threads may have started some."""
        if self._children is None or self._threads != 1:
            return list(children(self.pid))
        try:
            listed = os.pread(self._children, 4096, 0)
        except GONE:
            return []
        return list(map(int, listed.split())) if len(listed) <= LISTED else list(children(self.pid))

    def close(self) -> None:
        """Look no more."""
        os.close(self._stat)
        if self._children is not None:
            os.close(self._children)


def pss_kib(pid: int) -> int:
    """Resident KiB with shared pages divided among their sharers; 0 when the process is gone."""
    try:
        with open(f"/proc/{pid}/smaps_rollup", "rb") as file:
            return next((int(line.split()[1]) for line in file if line.startswith(b"Pss:")), 0)
    except OSError:
        return 0


def kill(pids: Collection[int]) -> None:
    """SIGKILL each, the dead included; what became another user's is out of reach."""
    for pid in pids:
        with suppress(ProcessLookupError, PermissionError):
            os.kill(pid, signal.SIGKILL)


Ended = dict[int, tuple[int, float]]


def reap() -> Ended:
    """Collect every child that has ended: pid → wait status and CPU seconds."""
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
    """Kill and reap every descendant of this process, those that its killed ones leave behind too.

    As the process is the reaper of its descendants, orphans turn up as its children, and the loop is
    over when nothing is left.
    """
    ended: Ended = {}
    deadline = time.monotonic() + within_s
    while left := descendants(os.getpid(), spare):
        kill(left)
        ended |= _reap_all_of(left)
        if time.monotonic() > deadline:
            break
    return ended | reap()


def _reap_all_of(pids: Collection[int], within_s: float = LOOK_AGAIN_S) -> Ended:
    """Reap until all of these are, or it is time to look whether there are others by now."""
    ended: Ended = {}
    deadline = time.monotonic() + within_s
    pause = 0.0005
    while not ended.keys() >= set(pids) and time.monotonic() < deadline:
        time.sleep(pause)
        pause = min(0.005, pause * 1.2)  # gigabytes take the kernel a while to free
        ended |= reap()
    return ended


def end_marked(mark: str, within_s: float = 2.0) -> None:
    """Kill every process that has ``mark`` (``NAME=value``) in the environment that it was started with."""
    name, _, value = mark.partition("=")
    end_those(lambda pid: in_environment(pid, name) == value, within_s)


def end_those(wanted: Callable[[int], bool], within_s: float) -> None:
    """Kill every process but this one that ``wanted`` says so of, until there is none."""
    deadline = time.monotonic() + within_s
    while left := [pid for pid in everybody() if pid != os.getpid() and wanted(pid)]:
        kill(left)
        if time.monotonic() > deadline:
            break
        time.sleep(0.002)


def in_environment(pid: int, name: str) -> str | None:
    """A variable of the environment that a process was started with; None where it has none or may not be read."""
    start = name.encode() + b"="
    try:
        with open(f"/proc/{pid}/environ", "rb", buffering=0) as file:
            found = next((line for line in file.readall().split(b"\0") if line.startswith(start)), None)
    except OSError:
        return None
    return found[len(start) :].decode(errors="replace") if found else None


def pin(pid: int, cores: Collection[int]) -> None:
    """Keep every thread of a process on the given cores."""
    with suppress(*GONE):
        for thread in os.listdir(f"/proc/{pid}/task"):
            with suppress(ProcessLookupError):
                os.sched_setaffinity(int(thread), cores)
