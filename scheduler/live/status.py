"""The status of batches and workers, and the processes that use an embedded database."""

from __future__ import annotations

import os
import time
from collections.abc import Callable
from typing import Any

from rich.console import Console
from sqlalchemy import Engine, delete, insert, select

from cagematch.models import Batch, BatchConfiguration, BatchState, DutyLease, Host, StoredConfiguration, Worker
from cagematch.models.base import now
from cagematch.models.engine import reading, writing
from cagematch.problems.errors import ServiceError
from cagematch.problems.outcome import Status
from cagematch.scheduler.batches.lookup import unserved
from cagematch.scheduler.live.progress import is_over, progress
from cagematch.scheduler.live.watch import statuses
from cagematch.workers.machine.host import host_name
from cagematch.workers.queues.dispatch import live
from cagematch.workers.queues.pools import pool_of

SHOWN = 20  # batches
INTERRUPTED = "interrupted"
EMBEDDED = "embedded"  # the duty lease of the process that runs the batches of an embedded database
START_S = 60.0  # the worker of that process starts within this time
IDLE_S = 5.0  # a `submit` that has just created its batch needs this time to start its worker


def status_of(engine: Engine, batch_id: int | None, *, embedded: bool) -> dict[str, Any]:
    """Return the state of batches and workers as JSON data.

    Parameters
    ----------
    batch_id
        The batch to report. ``None`` reports the latest ones.
    embedded
        Workers run inside `submit` and `resume`: an active batch without a worker was interrupted.

    Returns
    -------
    dict
        ``batches``, the live ``workers``, and the ``unserved`` backends: those of active batches without a worker.
    """
    with reading(engine) as connection:
        which = select(Batch.id).order_by(Batch.id.desc()).limit(SHOWN)
        ids = [batch_id] if batch_id else list(connection.scalars(which))
        waiting = connection.scalars(
            select(StoredConfiguration.backend)
            .join(BatchConfiguration, BatchConfiguration.configuration_id == StoredConfiguration.id)
            .join(Batch, Batch.id == BatchConfiguration.batch_id)
            .where(Batch.state == BatchState.ACTIVE)
            .distinct()
        ).all()
    idle = embedded and not other_processes(engine)
    return {
        "batches": [_batch(engine, one, idle=idle) for one in ids],
        "workers": [] if idle else _workers(engine),
        "unserved": [] if embedded else unserved(engine, list(waiting)),
    }


def other_processes(engine: Engine) -> list[int]:
    """Return the process ids of live workers on this host, except this process and workers just killed."""
    with reading(engine) as connection:
        pids = connection.scalars(
            select(Worker.pid).join(Host, Host.id == Worker.host_id).where(live(), Host.name == host_name())
        ).all()
    return [pid for pid in pids if pid != os.getpid() and _alive(pid)]


def claim_database(engine: Engine) -> int | None:
    """Claim an embedded database for the batches of this process.

    The claim covers the seconds before the worker starts, so that of two concurrent `resume` only one succeeds.

    Returns
    -------
    int or None
        The id of the process that already uses the database; None if the claim succeeded.
    """
    with writing(engine) as connection:
        taken = select(DutyLease.owner).where(
            DutyLease.duty == EMBEDDED, DutyLease.note == host_name(), DutyLease.expires_at > now()
        )
        owner = int(connection.scalar(taken) or 0)
        if owner not in (0, os.getpid()) and _alive(owner):
            return owner
        values = {"owner": str(os.getpid()), "note": host_name(), "expires_at": now() + START_S}
        connection.execute(delete(DutyLease).where(DutyLease.duty == EMBEDDED))
        connection.execute(insert(DutyLease).values(duty=EMBEDDED, **values))
    return next(iter(other_processes(engine)), None)


def abandonment_check(engine: Engine, batch_id: int) -> Callable[[], None]:
    """Return a check that raises ServiceError once no process runs a batch of an embedded database."""
    last = time.monotonic()

    def check() -> None:
        nonlocal last
        if other_processes(engine):
            last = time.monotonic()
        elif time.monotonic() - last > IDLE_S and not is_over(engine, batch_id):
            raise ServiceError(f"no process runs batch {batch_id}; resume it with `scheduler resume {batch_id}`")

    return check


def draw(found: dict[str, Any], console: Console, *, detailed: bool) -> None:
    """Print the data of `status_of`; ``detailed``: with a line per configuration."""
    for batch in found["batches"]:
        _draw_batch(batch, console, detailed=detailed)
    if not found["batches"]:
        console.print("there are no batches; create one with `scheduler submit hard`")
    for worker in found["workers"]:
        console.print(
            f"worker {worker['name']}:{worker['pid']}: {worker['slots']} slots, serves {', '.join(worker['queues'])}"
        )
    for backend in found["unserved"]:
        command = f"scheduler worker --pool {pool_of(backend)}"
        console.print(f"no live worker serves {backend}; start one with `{command}`", style="yellow")


def _draw_batch(batch: dict[str, Any], console: Console, *, detailed: bool) -> None:
    name = f" ({batch['name']})" if batch["name"] else ""
    so_far = ", ".join(f"{count} {word}" for word, count in batch["words"].items())
    outcomes = f": {so_far}" if so_far else ""
    resumable = batch["state"] in (INTERRUPTED, "cancelled")
    hint = f"; resume it with `scheduler resume {batch['batch']}`" if resumable else ""
    console.print(
        f"batch {batch['batch']}{name}: {', '.join(batch['sets'])}; {batch['state']}, "
        f"{batch['done']} of {batch['total']} runs{outcomes}{hint}",
        style="yellow" if batch["state"] == INTERRUPTED else None,
        soft_wrap=False,
    )
    if detailed:
        width = max(map(len, batch["configurations"]))
        for configuration, text in batch["configurations"].items():
            console.print(f"  {configuration:{width}}  {text or 'no runs yet'}")


def _workers(engine: Engine) -> list[dict[str, Any]]:
    with reading(engine) as connection:
        rows = connection.execute(
            select(Host.name, Worker.pid, Worker.queues, Worker.slots, (now() - Worker.heartbeat_at).label("silent_s"))
            .join(Host, Host.id == Worker.host_id)
            .where(live())
            .order_by(Worker.id)
        )
        return [{**row, "silent_s": round(row["silent_s"], 1)} for row in rows.mappings()]


def _batch(engine: Engine, batch_id: int, *, idle: bool) -> dict[str, Any]:
    state = progress(engine, batch_id)
    interrupted = idle and state.state is BatchState.ACTIVE
    counted = state.statuses
    return {
        "batch": batch_id,
        "name": state.name,
        "sets": state.sets,
        "state": INTERRUPTED if interrupted else state.state.value,
        "done": state.done,
        "total": state.total,
        "words": {word.value: counted[word] for word in Status if counted.get(word)},
        "configurations": {one.configuration: statuses(one) for one in state.configurations},
    }


def _alive(pid: int) -> bool:
    try:
        os.kill(pid, 0)
    except ProcessLookupError:
        return False
    except PermissionError:
        return True
    return True
