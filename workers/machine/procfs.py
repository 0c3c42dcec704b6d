"""Files of the kernel under ``/proc`` and ``/sys``: the one place that reads and splits them.

Source: proc(5), proc_pid_stat(5) and cgroups(7). `cagematch.workers.machine.processes.Watched` keeps its files open and
shares the parsing.
"""

from __future__ import annotations

import os
from collections.abc import Iterator
from pathlib import Path

# Columns of /proc/PID/stat after the name of the program, counted from 0.
STATE, PPID, UTIME, STIME_OF_REAPED, THREADS, START, RSS = 0, 1, 11, 15, 17, 19, 21

STAT_BYTES = 1024  # Bytes to read of /proc/PID/stat; a line is shorter.
DEAD_STATES = b"ZX"  # A zombie, and a process that is being removed.
GONE = (FileNotFoundError, ProcessLookupError)  # What a read raises once the process has ended.


def read_text(path: Path) -> str:
    """Return a file of the kernel without surrounding whitespace, ``""`` where it cannot be read."""
    try:
        return path.read_text(encoding="utf-8", errors="replace").strip()
    except OSError:
        return ""


def own_cgroups(path: Path) -> list[tuple[str, str]]:
    """Return the controllers and the path of each cgroup in a ``/proc/self/cgroup``; no controllers mean version 2."""
    lines = (line.split(":", 2) for line in read_text(path).splitlines())
    return [(words[1], words[2]) for words in lines if len(words) == 3]


def process_ids() -> Iterator[int]:
    """Return the PID of every process that is visible from here."""
    return (int(name) for name in os.listdir("/proc") if name.isdigit())


def parse_stat(line: bytes) -> list[bytes]:
    """Split ``/proc/PID/stat`` after the name of the program, which may contain spaces and parentheses."""
    return line.rpartition(b")")[2].split()


def stat_fields(pid: int) -> list[bytes] | None:
    """Return the columns of ``/proc/PID/stat`` after the name, None when the process has ended."""
    try:
        with open(f"/proc/{pid}/stat", "rb", buffering=0) as file:
            return parse_stat(file.read(STAT_BYTES))
    except GONE:
        return None


def is_alive(fields: list[bytes]) -> bool:
    """Return whether the columns of a stat file are those of a process that has not ended."""
    return fields[STATE] not in DEAD_STATES


def environment_value(pid: int, name: str) -> str | None:
    """Return a variable of the environment that a process started with, None where it is unset or unreadable."""
    start = name.encode() + b"="
    try:
        with open(f"/proc/{pid}/environ", "rb", buffering=0) as file:
            found = next((line for line in file.readall().split(b"\0") if line.startswith(start)), None)
    except OSError:
        return None
    return found[len(start) :].decode(errors="replace") if found else None
