"""Checks that the requested configurations can run before a batch is created."""

from __future__ import annotations

from typing import TYPE_CHECKING

from cagematch.problems.errors import InputError
from cagematch.scheduler.cli.output import warn

if TYPE_CHECKING:
    from sqlalchemy import Engine

    from cagematch.problems.outcome import Task
    from cagematch.workers.configurations import Configuration
    from cagematch.workers.connections import Connections


def require_backends(connections: Connections, engine: Engine, backends: list[str]) -> None:
    """Require installed backends when embedded; otherwise warn about those that no live worker serves.

    Raises
    ------
    InputError
        Embedded, and a backend is broken or not installed.

    """
    from cagematch.scheduler.batches.lookup import unserved
    from cagematch.workers.queues.pools import pool_of

    if connections.embedded:
        require_installed(backends)
    elif missing := unserved(engine, backends):
        pools = " ".join(f"--pool {pool}" for pool in dict.fromkeys(map(pool_of, missing)))
        warn(f"no live worker serves {', '.join(missing)}; these runs wait until `scheduler worker {pools}` starts one")


def require_installed(backends: list[str]) -> None:
    """Require backends to be installed here and to load.

    Raises
    ------
    InputError
        With the reason for each broken backend, or the command that installs the missing ones.

    """
    from cagematch.workers.backends import check_installation, entry

    found = {backend: check_installation(backend) for backend in backends}
    if broken := [reason for _, reason in found.values() if reason]:
        raise InputError("\n".join(broken))
    missing = [backend for backend, (version, _) in found.items() if version is None]
    if missing:
        hints = dict.fromkeys(entry(backend).install_hint(backend) for backend in missing)
        raise InputError(f"not installed: {', '.join(missing)}. To install: {'; '.join(hints)}")


def require_task(chosen: list[Configuration], task: Task) -> None:
    """Require at least one configuration that supports a task, and warn about the others.

    Raises
    ------
    InputError
        No configuration supports the task.

    """
    from cagematch.workers.backends import all_backends, load

    unable = [configuration.text for configuration in chosen if task not in load(configuration.backend).TASKS]
    if len(unable) == len(chosen):
        able = [name for name in all_backends() if task in load(name).TASKS]
        raise InputError(
            f"no requested configuration supports the task {task}: found {', '.join(unable)}, "
            f"expected at least one of {', '.join(able)}"
        )
    if unable:
        warn(f"{', '.join(unable)}: the task {task} is not supported; these runs are recorded as unsupported")
