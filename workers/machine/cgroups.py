"""A memory cgroup for each sandbox, where the worker may create one: the kernel then enforces the limit at once.

The two versions of the interface differ only in the names of the files used here.

Source: "Control Group v2" and "Memory Resource Controller" in the kernel's documentation.
"""

from __future__ import annotations

import os
import time
from contextlib import suppress
from dataclasses import dataclass
from pathlib import Path

from cagematch.workers.machine.orphans import identity, is_gone
from cagematch.workers.machine.processes import descendants, kill
from cagematch.workers.machine.procfs import own_cgroups
from cagematch.workers.machine.units import BYTES_PER_MIB

PREFIX = "cagematch-"  # Starts the name of every group that we create.
WORKER = "worker"  # Ends the name of the group that a worker creates for itself.
CONTROLLER = "memory"
ROOT = Path("/sys/fs/cgroup")  # Where the cgroup file systems are mounted.
OWN = Path("/proc/self/cgroup")  # Lists the groups of this process.
EVENTS_BYTES = 4096  # Bytes to read of a file of events; it is shorter.

# Seconds after which `MemoryGroup.remove` gives up: the kernel frees a group some time after its last process ends.
REMOVE_S = 2.0
REMOVE_PAUSE_S = 0.001


@dataclass(frozen=True, slots=True)
class _Files:
    """The file names of one version of the interface.

    ``swap`` limits memory and swap together in version 1, and swap alone in version 2.
    """

    version: str
    limit: str
    swap: str
    events: str


_V1 = _Files("cgroup v1", "memory.limit_in_bytes", "memory.memsw.limit_in_bytes", "memory.oom_control")
_V2 = _Files("cgroup v2", "memory.max", "memory.swap.max", "memory.events")


class MemoryGroup:
    """A memory cgroup below the group of this process. ``create`` makes one."""

    def __init__(self, folder: Path, files: _Files) -> None:
        self._folder = folder
        self._files = files
        self._limit_mib = 0
        self._events = -1  # Stays open, as it is read a hundred times per second.

    @classmethod
    def create(cls, pid: int, root: Path = ROOT, own: Path = OWN) -> MemoryGroup | None:
        """Create a group and move a process into it; return None where the kernel does not allow it.

        Processes that the moved one starts later belong to the group as well.
        """
        for parent, files in _candidates(root, own):
            folder = _group_folder(parent, str(pid))
            try:
                _remove_abandoned(parent)
                if files is _V2:
                    _delegate(parent)
                folder.mkdir()
                if os.access(folder / files.limit, os.W_OK):
                    (folder / "cgroup.procs").write_text(str(pid), encoding="ascii")
                    return cls(folder, files)
                folder.rmdir()
            except OSError:
                continue
        return None

    @property
    def version(self) -> str:
        """The version of the interface: ``cgroup v1`` or ``cgroup v2``."""
        return self._files.version

    def limit(self, mib: int) -> None:
        """Limit the group's memory, including swap, to ``mib`` MiB."""
        if mib == self._limit_mib:
            return
        self._limit_mib = mib
        limit = str(mib * BYTES_PER_MIB)
        first, then = ("-1", limit) if self._files is _V1 else ("0", "0")
        # The kernel refuses a limit below the present use, and a swap limit where it does not count swap.
        for name, value in ((self._files.swap, first), (self._files.limit, limit), (self._files.swap, then)):
            with suppress(OSError):
                (self._folder / name).write_text(value, encoding="ascii")

    def kills(self) -> int:
        """Return how many processes of the group the kernel has killed for exceeding the limit."""
        try:
            if self._events < 0:
                self._events = os.open(self._folder / self._files.events, os.O_RDONLY)
            lines = os.pread(self._events, EVENTS_BYTES, 0).splitlines()
        except OSError:
            return 0
        return next((int(line.split()[1]) for line in lines if line.startswith(b"oom_kill ")), 0)

    def remove(self) -> None:
        """Remove the group, whose processes must have ended; leave it where the kernel still refuses after 2 s."""
        if self._events >= 0:
            os.close(self._events)
            self._events = -1
        deadline = time.monotonic() + REMOVE_S
        while self._folder.exists():
            try:
                self._folder.rmdir()
            except OSError:
                if time.monotonic() > deadline:
                    return
                time.sleep(REMOVE_PAUSE_S)


def move_to_own_group(root: Path = ROOT, own: Path = OWN) -> None:
    """Move this worker into a new group below its present one, where version 2 requires it.

    Version 2 lets a group limit the memory of groups below it only while it contains no processes itself. A group that
    contains processes of other programs stays as it is.
    """
    for base in (base for base, files in _candidates(root, own) if files is _V2):
        with suppress(OSError):
            members = set(_members(base))
            ours = {os.getpid(), *descendants(os.getpid())}
            controllers = (base / "cgroup.controllers").read_text(encoding="ascii").split()
            if os.getpid() in members <= ours and CONTROLLER in controllers:
                folder = _group_folder(base, WORKER)
                folder.mkdir()
                for pid in members:
                    (folder / "cgroup.procs").write_text(str(pid), encoding="ascii")


def _group_folder(parent: Path, suffix: str) -> Path:
    return parent / f"{PREFIX}{identity(os.getpid())}-{suffix}"


def _candidates(root: Path, own: Path) -> list[tuple[Path, _Files]]:
    """Parents for a new group. A container sees its own group at ``root``, whatever path the kernel reports."""
    found: list[tuple[Path, _Files]] = []
    for controllers, path in own_cgroups(own):
        if CONTROLLER in controllers.split(","):
            found += [(root / CONTROLLER / base.lstrip("/"), _V1) for base in (path, "/")]
        elif not controllers:
            base = root / path.lstrip("/")
            above = [base.parent] if base.name.startswith(PREFIX) and base.name.endswith(WORKER) else []
            found += [(each, _V2) for each in (*above, base, root)]
    return found


def _delegate(base: Path) -> None:
    """Enable the controller for the groups below, which the kernel allows in a group without processes."""
    with suppress(OSError), open(base / "cgroup.subtree_control", "r+", encoding="ascii") as control:
        control.write(f"+{CONTROLLER}")


def _remove_abandoned(parent: Path) -> None:
    """Remove the groups of keepers that were killed, with the processes in them."""
    for folder in parent.glob(f"{PREFIX}*-*"):
        if is_gone(folder.name.removeprefix(PREFIX).partition("-")[0]):
            with suppress(OSError):
                if not folder.name.endswith(WORKER):  # It contains keepers, which end by themselves.
                    kill(_members(folder))
                folder.rmdir()


def _members(folder: Path) -> list[int]:
    return [int(pid) for pid in (folder / "cgroup.procs").read_text(encoding="ascii").split()]
