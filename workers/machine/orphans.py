"""Orphans: processes of a sandbox whose keeper and worker were killed at the same moment.

A sandbox ends with its keeper, but a program that it started, such as PuLP's CBC, does not. So every descendant of a
sandbox has its keeper's identity in its environment, and the next worker or keeper kills those whose keeper has ended.
"""

from __future__ import annotations

import os

from cagematch.workers.machine.processes import end_matching
from cagematch.workers.machine.procfs import START, environment_value, is_alive, stat_fields

KEEPER = "CAGEMATCH_KEEPER"  # The variable with the identity of the keeper.


def identity(pid: int) -> str:
    """Return a name that is unique to a process while the host is up, ``""`` when the process has ended.

    The name is ``NAMESPACE.PID.START``, as a PID is only valid within its namespace and is used again later.
    """
    fields = stat_fields(pid)
    if not fields or not is_alive(fields):
        return ""
    return f"{_namespace()}.{pid}.{int(fields[START])}"


def is_gone(name: str) -> bool:
    """Return whether the process of an identity has ended; False for a process of another namespace."""
    namespace, _, rest = name.partition(".")
    pid = rest.partition(".")[0]
    return namespace == str(_namespace()) and pid.isdigit() and identity(int(pid)) != name


def end_orphans(within_s: float = 2.0) -> None:
    """Kill every process whose keeper has ended, for ``within_s`` seconds at most."""
    end_matching(_is_orphan, within_s)


def _is_orphan(pid: int) -> bool:
    owner = environment_value(pid, KEEPER)
    return owner is not None and is_gone(owner)


def _namespace() -> int:
    return os.stat("/proc/self/ns/pid").st_ino  # noqa: PTH116 - called for each process of the host
