"""Which cores there are for solves: hyper-thread siblings are one core, and large hosts keep some for ourselves.

A core goes by the number of the one hardware thread of it that solves are pinned to; its siblings stay idle
meanwhile, as two threads of a core share its units and caches and slow each other down.
``root`` is where ``proc`` and ``sys`` are.
"""

from __future__ import annotations

import os
import re
from collections.abc import Collection, Iterator
from contextlib import contextmanager
from functools import cache
from pathlib import Path

from cagematch.problems.errors import InputError
from cagematch.workers.machine.processes import pin

CORES = "CAGEMATCH_CORES"  # the cores that solves may have, as "0-3,8"; keepers read it too
ASIDE = 8  # one core in so many is left to workers and keepers
ROOT = Path("/")
_LIST = re.compile(r"\d+(-\d+)?(,\d+(-\d+)?)*")


def usable_cores(root: Path = ROOT) -> list[int]:
    """The cores that solves may have, cut down to the cgroup's CPU quota.

    They are those that CAGEMATCH_CORES lists, or those of this process's affinity but for the ones set aside.
    """
    listed = os.environ.get(CORES)
    cores = one_of_each(_numbers(listed) if listed else os.sched_getaffinity(0), root)
    if not listed:
        cores = cores[len(cores) // ASIDE :]
    quota = _quota(root)
    return cores if quota is None else cores[: max(1, int(quota))]


def check_cores(listed: str) -> None:
    """Raise InputError unless a list of cores names some that this process may use."""
    allowed = os.sched_getaffinity(0)
    try:
        lacking = set(_numbers(listed)) - allowed
    except InputError as error:
        raise InputError(f"{error}; usable here: {as_list(allowed)}") from None
    if lacking:
        raise InputError(f"there is no core {as_list(lacking)} for this process; usable here: {as_list(allowed)}")


@cache
def settle(root: Path = ROOT) -> None:
    """Once a process: fix the cores of the keepers to come, and move to others where this process may use any."""
    listed = os.environ.get(CORES)
    if listed:
        check_cores(listed)
    leased = usable_cores(root)
    taken = {thread for core in leased for thread in siblings(core, root)}
    if own := os.sched_getaffinity(0) - taken:
        os.environ[CORES] = as_list(leased)
        pin(os.getpid(), own)


def shared_with(cores: list[int]) -> set[int]:
    """Those of a slot's leased cores that this process, its worker, uses too."""
    return os.sched_getaffinity(os.getpid()) & set(cores)


@contextmanager
def beside(cores: list[int]) -> Iterator[None]:
    """Within the block this thread keeps to a slot's leased cores, if it shares them: it takes no other slot's time."""
    before = os.sched_getaffinity(0)
    os.sched_setaffinity(0, shared_with(cores) or before)
    try:
        yield
    finally:
        os.sched_setaffinity(0, before)


def siblings(core: int, root: Path = ROOT) -> set[int]:
    """The hardware threads of a core, itself among them; itself alone where the kernel tells nothing."""
    text = _read(root / f"sys/devices/system/cpu/cpu{core}/topology/thread_siblings_list").strip()
    return {core, *_numbers(text)} if _LIST.fullmatch(text) else {core}


def one_of_each(threads: Collection[int], root: Path = ROOT) -> list[int]:
    """The first of the given hardware threads of each core."""
    found: dict[int, int] = {}
    for thread in sorted(threads):
        found.setdefault(min(siblings(thread, root)), thread)
    return list(found.values())


def as_list(numbers: Collection[int]) -> str:
    """Write numbers as the kernel does: ``0-3,8``."""
    spans: list[list[int]] = []
    for number in sorted(numbers):
        if spans and number == spans[-1][-1] + 1:
            spans[-1][1:] = [number]
        else:
            spans.append([number])
    return ",".join("-".join(map(str, span)) for span in spans)


def _numbers(text: str) -> list[int]:
    """Read a list as the kernel and taskset write it. Raises InputError when it is none."""
    if not _LIST.fullmatch(text):
        raise InputError(f"{text!r} is no list of cores; expected one as 0-3 or 0,2-3")
    found: set[int] = set()
    for span in text.split(","):
        first, _, last = span.partition("-")
        if int(last or first) < int(first) or len(last or first) > len("65535"):
            raise InputError(f"{span!r} in the list of cores {text!r} is no range; expected the lower number first")
        found.update(range(int(first), int(last or first) + 1))
    return sorted(found)


def _quota(root: Path) -> float | None:
    """CPUs that the cgroup and those above it allow; None when none of them sets a limit."""
    found = []
    for line in _read(root / "proc/self/cgroup").splitlines():
        _, controllers, name = line.split(":", 2)
        group = Path(name.lstrip("/"))
        for place in (group, *group.parents):
            if not controllers:
                words = _read(root / "sys/fs/cgroup" / place / "cpu.max").split()
            elif "cpu" in controllers.split(","):
                folder = root / "sys/fs/cgroup" / controllers / place
                words = [_read(folder / f"cpu.cfs_{part}_us").strip() for part in ("quota", "period")]
            else:
                continue
            if len(words) == 2 and words[0].isdigit() and words[1].isdigit():
                found.append(int(words[0]) / int(words[1]))
    return min(found, default=None)


def _read(path: Path) -> str:
    try:
        return path.read_text(encoding="ascii")
    except (OSError, ValueError):
        return ""
