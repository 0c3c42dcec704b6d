"""What there is: batches, workers, and backends that nobody serves."""

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
from cagematch.problems.outcome import Word
from cagematch.scheduler.batches.creation import unserved
from cagematch.scheduler.live.progress import is_over, progress
from cagematch.scheduler.live.watch import words
from cagematch.workers.machine.host import host_name
from cagematch.workers.queues.dispatch import live

SHOWN = 20
INTERRUPTED = "interrupted"
EMBEDDED = "embedded"  # the duty to go on with an embedded database
START_S = 60.0  # in which its worker has started
PATIENCE_S = 5.0  # a `submit` that has just made its batch is starting its worker


def status_of(engine: Engine, batch_id: int | None, *, embedded: bool) -> dict[str, Any]:
    """The newest batches (or one), the live workers, and the backends of open batches that none of them serves.

    ``embedded``: workers live inside `submit` and `resume`; a batch that none of them works on was interrupted.
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
    """Live workers on this host, other than this process; those that were killed a moment ago do not count."""
    with reading(engine) as connection:
        pids = connection.scalars(
            select(Worker.pid).join(Host, Host.id == Worker.host_id).where(live(), Host.name == host_name())
        ).all()
    return [pid for pid in pids if pid != os.getpid() and _alive(pid)]


def take_database(engine: Engine) -> int | None:
    """Note that this process goes on with batches of an embedded database, or tell which other process does already.

    Its worker lives some seconds later only: of two that resume at one time, the second must know of the first.
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


def abandoned(engine: Engine, batch_id: int) -> Callable[[], None]:
    """A check for whoever follows a batch of an embedded database: ServiceError when nobody works on it any more."""
    last = time.monotonic()

    def check() -> None:
        nonlocal last
        if other_processes(engine):
            last = time.monotonic()
        elif time.monotonic() - last > PATIENCE_S and not is_over(engine, batch_id):
            raise ServiceError(f"nobody works on batch {batch_id}; `scheduler resume {batch_id}` goes on with it")

    return check


def draw(found: dict[str, Any], console: Console, *, detailed: bool) -> None:
    """The same for people; ``detailed``: each configuration too."""
    for batch in found["batches"]:
        _draw_batch(batch, console, detailed=detailed)
    if not found["batches"]:
        console.print("no batch yet; `scheduler submit hard` makes one")
    for worker in found["workers"]:
        console.print(
            f"worker {worker['name']}:{worker['pid']}: {worker['slots']} slots, serves {', '.join(worker['queues'])}"
        )
    for backend in found["unserved"]:
        console.print(f"no live worker serves {backend}: its runs wait for one", style="yellow")


def _draw_batch(batch: dict[str, Any], console: Console, *, detailed: bool) -> None:
    name = f" ({batch['name']})" if batch["name"] else ""
    so_far = ", ".join(f"{count} {word}" for word, count in batch["words"].items())
    told = f": {so_far}" if so_far else ""
    go_on = f"; `scheduler resume {batch['batch']}` goes on" if batch["state"] in (INTERRUPTED, "cancelled") else ""
    console.print(
        f"batch {batch['batch']}{name}: {', '.join(batch['sets'])}; {batch['state']}, "
        f"{batch['done']} of {batch['total']} runs{told}{go_on}",
        style="yellow" if batch["state"] == INTERRUPTED else None,
        soft_wrap=False,
    )
    if detailed:
        width = max(map(len, batch["configurations"]))
        for configuration, told in batch["configurations"].items():
            console.print(f"  {configuration:{width}}  {told or 'nothing yet'}")


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
    counted = state.words
    return {
        "batch": batch_id,
        "name": state.name,
        "sets": state.sets,
        "state": INTERRUPTED if interrupted else state.state.value,
        "done": state.done,
        "total": state.total,
        "words": {word.value: counted[word] for word in Word if counted.get(word)},
        "configurations": {a.configuration: words(a) for a in state.configurations},
    }


def _alive(pid: int) -> bool:
    try:
        os.kill(pid, 0)
    except ProcessLookupError:
        return False
    except PermissionError:
        return True
    return True
