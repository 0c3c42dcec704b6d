"""Orphans: processes of a sandbox whose keeper was killed in the same instant as its worker.

A sandbox dies with its keeper; a program that it has started, as PuLP starts CBC, does not. So all that comes of a
sandbox carries its keeper's identity in its environment, and whoever starts next ends what no living keeper owns.
"""

from __future__ import annotations

import os

from cagematch.workers.machine.processes import end_those, fields_of, in_environment

KEEPER = "CAGEMATCH_KEEPER"
START = 19  # field of /proc/pid/stat after the name, from 0: when it started, in ticks since boot


def identity(pid: int) -> str:
    """The name of a process for as long as the host is up, ``""`` when it is gone.

    Its namespace belongs to it: a number from inside a container means nothing outside.
    """
    fields = fields_of(pid)
    if not fields or fields[0] in b"ZX":
        return ""
    return f"{_namespace()}.{pid}.{int(fields[START])}"


def is_gone(name: str) -> bool:
    """Whether the process of an identity has ended; False where that cannot be told from here."""
    namespace, _, rest = name.partition(".")
    pid = rest.partition(".")[0]
    return namespace == str(_namespace()) and pid.isdigit() and identity(int(pid)) != name


def end_orphans(within_s: float = 2.0) -> None:
    """Kill every process whose keeper is gone."""
    end_those(_is_orphan, within_s)


def _is_orphan(pid: int) -> bool:
    owner = in_environment(pid, KEEPER)
    return owner is not None and is_gone(owner)


def _namespace() -> int:
    return os.stat("/proc/self/ns/pid").st_ino  # noqa: PTH116 - once a process that is looked at
