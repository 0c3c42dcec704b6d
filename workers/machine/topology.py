"""The cores that solves may use: one hardware thread per core, and on large hosts not every core.

A core has the number of the hardware thread that solves are pinned to. Its sibling threads stay idle meanwhile, as
threads of one core share its units and caches and slow each other down.

``root`` is the folder that contains ``proc`` and ``sys``.

Source: "CPU lists" and "How CPU topology info is exported via sysfs" in the kernel's documentation.
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
from cagematch.workers.machine.procfs import own_cgroups, read_text

CORES = "CAGEMATCH_CORES"  # The variable with the cores that solves may use, as "0-3,8". Keepers read it as well.
CORES_PER_RESERVED = 8  # One core in this many stays free for workers and keepers.
ROOT = Path("/")
LARGEST_CORE_DIGITS = len("65535")
_CORE_LIST = re.compile(r"\d+(-\d+)?(,\d+(-\d+)?)*")


def usable_cores(root: Path = ROOT) -> list[int]:
    """Return the cores that solves may use, as many as the cgroup's CPU quota allows.

    They are the cores in CAGEMATCH_CORES, or by default those of this process's affinity without the reserved ones.

    Raises
    ------
    InputError
        CAGEMATCH_CORES is not a list of cores.
    """
    listed = os.environ.get(CORES)
    cores = one_thread_per_core(_parse_cores(listed) if listed else os.sched_getaffinity(0), root)
    if not listed:
        cores = cores[len(cores) // CORES_PER_RESERVED :]
    quota = _quota(root)
    return cores if quota is None else cores[: max(1, int(quota))]


def check_cores(listed: str) -> None:
    """Check that this process may use every core of a list.

    Raises
    ------
    InputError
        The list is malformed, or names a core that this process may not use.
    """
    allowed = os.sched_getaffinity(0)
    try:
        missing = set(_parse_cores(listed)) - allowed
    except InputError as error:
        raise InputError(f"{error}; usable here: {format_cores(allowed)}") from None
    if missing:
        raise InputError(f"no core {format_cores(missing)} for this process; usable here: {format_cores(allowed)}")


@cache
def move_off_leased_cores(root: Path = ROOT) -> None:
    """Fix the cores that keepers lease, and pin this worker to the remaining ones if there are any.

    Only the first call of a process has an effect.

    Raises
    ------
    InputError
        CAGEMATCH_CORES is malformed, or names a core that this process may not use.
    """
    listed = os.environ.get(CORES)
    if listed:
        check_cores(listed)
    leased = usable_cores(root)
    taken = {thread for core in leased for thread in siblings(core, root)}
    if own := os.sched_getaffinity(0) - taken:
        os.environ[CORES] = format_cores(leased)
        pin(os.getpid(), own)


def shared_with(cores: list[int]) -> set[int]:
    """Return those of a slot's leased cores that this worker process also uses."""
    return os.sched_getaffinity(os.getpid()) & set(cores)


@contextmanager
def pinned_to_shared(cores: list[int]) -> Iterator[None]:
    """Pin this thread to those of a slot's leased cores that the worker shares, so that it slows no other slot."""
    before = os.sched_getaffinity(0)
    os.sched_setaffinity(0, shared_with(cores) or before)
    try:
        yield
    finally:
        os.sched_setaffinity(0, before)


def siblings(core: int, root: Path = ROOT) -> set[int]:
    """Return the hardware threads of a core, itself included; itself alone where the kernel lists none."""
    text = read_text(root / f"sys/devices/system/cpu/cpu{core}/topology/thread_siblings_list")
    return {core, *_parse_cores(text)} if _CORE_LIST.fullmatch(text) else {core}


def one_thread_per_core(threads: Collection[int], root: Path = ROOT) -> list[int]:
    """Return the first of the given hardware threads of each core."""
    found: dict[int, int] = {}
    for thread in sorted(threads):
        found.setdefault(min(siblings(thread, root)), thread)
    return list(found.values())


def format_cores(numbers: Collection[int]) -> str:
    """Format numbers as the kernel does: ``0-3,8``."""
    spans: list[list[int]] = []
    for number in sorted(numbers):
        if spans and number == spans[-1][-1] + 1:
            spans[-1][1:] = [number]
        else:
            spans.append([number])
    return ",".join("-".join(map(str, span)) for span in spans)


def _parse_cores(text: str) -> list[int]:
    """Parse a list in the format of the kernel and of taskset; raise InputError when it is malformed."""
    if not _CORE_LIST.fullmatch(text):
        raise InputError(f"found {text!r}, expected a list of cores such as 0-3 or 0,2-3")
    found: set[int] = set()
    for span in text.split(","):
        first, _, last = span.partition("-")
        if int(last or first) < int(first) or len(last or first) > LARGEST_CORE_DIGITS:
            raise InputError(f"found {span!r} in the list of cores {text!r}, expected LOW-HIGH with the low end first")
        found.update(range(int(first), int(last or first) + 1))
    return sorted(found)


def _quota(root: Path) -> float | None:
    """The CPUs that this cgroup and those above it allow, None where none of them sets a limit."""
    found = []
    for controllers, name in own_cgroups(root / "proc/self/cgroup"):
        group = Path(name.lstrip("/"))
        for place in (group, *group.parents):
            if not controllers:
                words = read_text(root / "sys/fs/cgroup" / place / "cpu.max").split()
            elif "cpu" in controllers.split(","):
                folder = root / "sys/fs/cgroup" / controllers / place
                words = [read_text(folder / f"cpu.cfs_{part}_us") for part in ("quota", "period")]
            else:
                continue
            if len(words) == 2 and words[0].isdigit() and words[1].isdigit():
                found.append(int(words[0]) / int(words[1]))
    return min(found, default=None)
