"""What there is: batches, workers, and backends that nobody serves."""

from __future__ import annotations

import os
from typing import Any

from rich.console import Console
from rich.table import Table
from sqlalchemy import Engine, select

from models import Batch, BatchConfiguration, BatchState, Configuration, Host, Worker
from models.base import now
from models.engine import reading
from scheduler.batches import unserved
from scheduler.progress import progress
from scheduler.watch import words
from workers.host import host_name
from workers.queueing import live

SHOWN = 20


def status_of(engine: Engine, batch_id: int | None) -> dict[str, Any]:
    """The newest batches (or one), the live workers, and the backends of open batches that none of them serves."""
    with reading(engine) as connection:
        which = select(Batch.id).order_by(Batch.id.desc()).limit(SHOWN)
        ids = [batch_id] if batch_id else list(connection.scalars(which))
        waiting = connection.scalars(
            select(Configuration.backend)
            .join(BatchConfiguration, BatchConfiguration.configuration_id == Configuration.id)
            .join(Batch, Batch.id == BatchConfiguration.batch_id)
            .where(Batch.state == BatchState.ACTIVE)
            .distinct()
        ).all()
        workers = connection.execute(
            select(Host.name, Worker.pid, Worker.queues, Worker.slots, (now() - Worker.heartbeat_at).label("silent_s"))
            .join(Host, Host.id == Worker.host_id)
            .where(live())
            .order_by(Worker.id)
        )
        told = [dict(row) for row in workers.mappings()]
    return {
        "batches": [_batch(engine, one) for one in ids],
        "workers": [{**w, "silent_s": round(w["silent_s"], 1)} for w in told],
        "unserved": unserved(engine, list(waiting)),
    }


def other_processes(engine: Engine) -> list[int]:
    """Live workers on this host, other than this process; those that were killed a moment ago do not count."""
    with reading(engine) as connection:
        pids = connection.scalars(
            select(Worker.pid).join(Host, Host.id == Worker.host_id).where(live(), Host.name == host_name())
        ).all()
    return [pid for pid in pids if pid != os.getpid() and _alive(pid)]


def draw(found: dict[str, Any], console: Console) -> None:
    """The same for people."""
    table = Table(box=None, pad_edge=False, title="batches", title_justify="left")
    for heading in ("batch", "name", "state", "runs"):
        table.add_column(heading)
    table.add_column("so far")
    for batch in found["batches"]:
        so_far = ", ".join(f"{count} {word}" for word, count in batch["words"].items())
        runs = f"{batch['done']}/{batch['total']}"
        table.add_row(str(batch["batch"]), batch["name"] or "", batch["state"], runs, so_far)
    console.print(table if found["batches"] else "no batch yet; `scheduler submit puzzles/hard.txt` makes one")
    for worker in found["workers"]:
        console.print(
            f"worker {worker['name']}:{worker['pid']}: {worker['slots']} slots, {', '.join(worker['queues'])}"
        )
    if not found["workers"]:
        console.print("no live worker")
    for backend in found["unserved"]:
        console.print(f"no live worker serves {backend}: its runs wait for one", style="yellow")


def _batch(engine: Engine, batch_id: int) -> dict[str, Any]:
    state = progress(engine, batch_id)
    counted: dict[str, int] = {}
    for advance in state.configurations:
        for told, count in advance.words.items():
            counted[told.value] = counted.get(told.value, 0) + count
    return {
        "batch": batch_id,
        "name": state.name,
        "state": state.state.value,
        "done": state.done,
        "total": state.total,
        "words": counted,
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
