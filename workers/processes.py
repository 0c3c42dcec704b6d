"""Processes as /proc shows them: who descends from whom, what they use, and how to end them all."""

from __future__ import annotations

import ctypes
import os
import signal
import time
from collections.abc import Collection, Iterator
from dataclasses import dataclass

TICKS = os.sysconf("SC_CLK_TCK")
PAGE_KIB = os.sysconf("SC_PAGE_SIZE") // 1024
PR_SET_PDEATHSIG = 1
PR_SET_CHILD_SUBREAPER = 36


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
    try:
        for thread in os.listdir(f"/proc/{pid}/task"):
            with open(f"/proc/{pid}/task/{thread}/children", "rb") as file:
                yield from map(int, file.read().split())
    except (FileNotFoundError, ProcessLookupError):
        return


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
    """What a process uses; None when it is gone."""
    try:
        with open(f"/proc/{pid}/stat", "rb") as file:
            fields = file.read().rpartition(b")")[2].split()
    except (FileNotFoundError, ProcessLookupError):
        return None
    return Usage(fields[0].decode(), sum(map(int, fields[11:15])) / TICKS, int(fields[21]) * PAGE_KIB)


def pss_kib(pid: int) -> int:
    """Resident KiB with shared pages divided among their sharers; 0 when the process is gone."""
    try:
        with open(f"/proc/{pid}/smaps_rollup", "rb") as file:
            return next((int(line.split()[1]) for line in file if line.startswith(b"Pss:")), 0)
    except OSError:
        return 0


def kill(pids: Collection[int]) -> None:
    """SIGKILL each, the dead included."""
    for pid in pids:
        try:
            os.kill(pid, signal.SIGKILL)
        except ProcessLookupError:
            continue


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


def end_all(spare: Collection[int] = (), within_s: float = 10.0) -> None:
    """Kill and reap every descendant of this process, those that its killed ones leave behind too.

    As the process is the reaper of its descendants, orphans turn up as its children, and the loop is
    over when nothing is left.
    """
    deadline = time.monotonic() + within_s
    while left := descendants(os.getpid(), spare):
        kill(left)
        reap()
        if time.monotonic() > deadline:
            break
        time.sleep(0.0005)
    reap()


def pin(pid: int, cores: Collection[int]) -> None:
    """Keep every thread of a process on the given cores."""
    try:
        for thread in os.listdir(f"/proc/{pid}/task"):
            os.sched_setaffinity(int(thread), cores)
    except (FileNotFoundError, ProcessLookupError):
        return
