"""A memory cgroup for a sandbox, where one may be made: the kernel then holds the limit without a delay.

Version 1 and version 2 of the interface differ in the names of their files only, as far as they are used
here. Documentation: the kernel's "Control Group v2" and "Memory Resource Controller".
"""

from __future__ import annotations

import os
import time
from contextlib import suppress
from dataclasses import dataclass
from pathlib import Path

from cagematch.workers.machine.orphans import identity, is_gone
from cagematch.workers.machine.processes import descendants, kill

MIB = 1 << 20
READ = 4096
PREFIX = "cagematch-"
OURS = "worker"  # ends the name of the group that a worker made for itself
CONTROLLER = "memory"
ROOT, OWN = Path("/sys/fs/cgroup"), Path("/proc/self/cgroup")
GONE_S = 2.0  # how long the kernel may take to notice that a group's last process has ended


@dataclass(frozen=True, slots=True)
class _Files:
    """The names in one version of the interface."""

    version: str
    limit: str
    swap: str  # the same limit for memory and swap together (v1), or for swap alone (v2)
    events: str


_V1 = _Files("cgroup v1", "memory.limit_in_bytes", "memory.memsw.limit_in_bytes", "memory.oom_control")
_V2 = _Files("cgroup v2", "memory.max", "memory.swap.max", "memory.events")


class MemoryGroup:
    """A group of this process's own group. ``create`` gives None where that is not allowed."""

    def __init__(self, folder: Path, files: _Files) -> None:
        self._folder = folder
        self._files = files
        self._limit_mib = 0
        self._events = -1  # open once: it is read a hundred times a second

    @classmethod
    def create(cls, pid: int, root: Path = ROOT, own: Path = OWN) -> MemoryGroup | None:
        """Make a group below the one that this process is in, and move a process into it.

        Those that it starts from then on are in as well.
        """
        for parent, files in _candidates(root, own):
            folder = _named(parent, str(pid))
            try:
                _sweep(parent)
                if files is _V2:
                    _hand_on(parent)
                folder.mkdir()
                if os.access(folder / files.limit, os.W_OK):
                    (folder / "cgroup.procs").write_text(str(pid), encoding="ascii")
                    return cls(folder, files)
                folder.rmdir()
            except OSError:
                continue
        return None

    @property
    def way(self) -> str:
        """How the limit is held: the version of the interface."""
        return self._files.version

    def limit(self, mib: int) -> None:
        """Set the limit of the group's memory, swap included, in MiB."""
        if mib == self._limit_mib:
            return
        self._limit_mib = mib
        first, then = ("-1", str(mib * MIB)) if self._files is _V1 else ("0", "0")
        # The kernel refuses what is below the present use, and swap where it does not count it.
        for name, value in ((self._files.swap, first), (self._files.limit, str(mib * MIB)), (self._files.swap, then)):
            with suppress(OSError):
                (self._folder / name).write_text(value, encoding="ascii")

    def kills(self) -> int:
        """How many processes of the group the kernel has killed for memory."""
        try:
            if self._events < 0:
                self._events = os.open(self._folder / self._files.events, os.O_RDONLY)
            lines = os.pread(self._events, READ, 0).splitlines()
        except OSError:
            return 0
        return next((int(line.split()[1]) for line in lines if line.startswith(b"oom_kill ")), 0)

    def remove(self) -> None:
        """Remove the group, whose processes have ended."""
        if self._events >= 0:
            os.close(self._events)
            self._events = -1
        deadline = time.monotonic() + GONE_S
        while self._folder.exists():
            try:
                self._folder.rmdir()
            except OSError:
                if time.monotonic() > deadline:
                    return
                time.sleep(0.001)


def make_room(root: Path = ROOT, own: Path = OWN) -> None:
    """Move this process into a group of its own below the present one, where that is what version 2 asks for.

    A group may let those below it limit memory only while it has no processes itself. Others' are left alone.
    """
    for base in (base for base, files in _candidates(root, own) if files is _V2):
        with suppress(OSError):
            inside = set(_inside(base))
            mine = {os.getpid(), *descendants(os.getpid())}
            controllers = (base / "cgroup.controllers").read_text(encoding="ascii").split()
            if os.getpid() in inside <= mine and CONTROLLER in controllers:
                folder = _named(base, OURS)
                folder.mkdir()
                for pid in inside:
                    (folder / "cgroup.procs").write_text(str(pid), encoding="ascii")


def _named(parent: Path, what: str) -> Path:
    return parent / f"{PREFIX}{identity(os.getpid())}-{what}"


def _candidates(root: Path, own: Path) -> list[tuple[Path, _Files]]:
    """Where a group might be made. Inside a container the path that the kernel tells may be seen from its top."""
    found: list[tuple[Path, _Files]] = []
    try:
        lines = own.read_text(encoding="ascii").splitlines()
    except OSError:
        return found
    for line in lines:
        _, controllers, path = line.split(":", 2)
        if CONTROLLER in controllers.split(","):
            found += [(root / CONTROLLER / base.lstrip("/"), _V1) for base in (path, "/")]
        elif not controllers:
            base = root / path.lstrip("/")
            above = [base.parent] if base.name.startswith(PREFIX) and base.name.endswith(OURS) else []
            found += [(each, _V2) for each in (*above, base, root)]
    return found


def _hand_on(base: Path) -> None:
    """Let the groups below have the controller; only a group without processes of its own may."""
    with suppress(OSError), open(base / "cgroup.subtree_control", "r+", encoding="ascii") as control:
        control.write(f"+{CONTROLLER}")


def _sweep(parent: Path) -> None:
    """End what is left in the groups of keepers that were killed, and remove them."""
    for folder in parent.glob(f"{PREFIX}*-*"):
        if is_gone(folder.name.removeprefix(PREFIX).partition("-")[0]):
            with suppress(OSError):
                if not folder.name.endswith(OURS):  # keepers are in there, which end by themselves
                    kill(_inside(folder))
                folder.rmdir()


def _inside(folder: Path) -> list[int]:
    return [int(pid) for pid in (folder / "cgroup.procs").read_text(encoding="ascii").split()]
