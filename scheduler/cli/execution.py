"""Running a batch: in this process when embedded, otherwise by sending it to the workers."""

from __future__ import annotations

from contextlib import contextmanager
from typing import TYPE_CHECKING

import typer

from cagematch.problems.errors import InputError
from cagematch.scheduler.cli.output import notes, output, plural
from cagematch.scheduler.cli.progress import follow, follow_workers, interruptible

if TYPE_CHECKING:
    from collections.abc import Callable, Iterator

    from sqlalchemy import Engine

    from cagematch.workers.connections import Connections


def resume_batch(connections: Connections, engine: Engine, batch_id: int, *, wait: bool) -> None:
    """Run what is unfinished of a batch.

    Raises
    ------
    InputError
        Another process is using the embedded database.

    """
    from cagematch.scheduler.batches import transitions
    from cagematch.scheduler.live.status import claim_database

    if connections.embedded and (other := claim_database(engine)):
        raise InputError(
            f"process {other} is using this database; `scheduler watch {batch_id}` shows the progress, "
            f"and `scheduler resume {batch_id}` works once it has ended"
        )
    unfinished = transitions.resume(engine, batch_id, alone=connections.embedded)
    if not unfinished:
        output().print(f"batch {batch_id} has no unfinished runs")
        return
    notes().print(f"batch {batch_id}: {plural(unfinished, 'unfinished run')}")
    run(connections, engine, batch_id, wait=wait)


def run(connections: Connections, engine: Engine, batch_id: int, *, wait: bool) -> None:
    """Run a batch in this process when embedded, otherwise send it to the workers.

    Parameters
    ----------
    wait
        Follow the batch to its end when workers run it.

    """
    from cagematch.scheduler.live.outages import answers
    from cagematch.workers.connections import without_password
    from cagematch.workers.queues.dispatch import enqueue
    from cagematch.workers.service.app import make_app

    if connections.embedded:
        _run_embedded(connections, engine, batch_id)
        return
    progress = f"`scheduler watch {batch_id}` shows the progress"
    # A worker may have marked the shards as sent already; in that case no message of ours can be lost.
    if enqueue(make_app(connections), engine, batch_id) and answers(connections.broker):
        output().print(f"batch {batch_id} is queued for the workers; {progress}")
    else:
        broker = without_password(connections.broker)
        output().print(
            f"batch {batch_id} is stored, but the broker {broker} is unreachable; "
            f"workers start when it is reachable, and {progress}"
        )
    if wait:
        follow_workers(connections, engine, batch_id)


def _run_embedded(connections: Connections, engine: Engine, batch_id: int) -> None:
    from cagematch.scheduler.live import embedded
    from cagematch.workers.queues.dispatch import enqueue
    from cagematch.workers.service.app import make_app

    app = make_app(connections, only_batch=batch_id)
    with (
        interruptible(f"interrupted; `scheduler resume {batch_id}` runs the rest"),
        embedded.interruptible(),
        _guarded(engine) as check_file,
        embedded.embedded_worker(app) as check_worker,
    ):

        def check() -> None:
            check_file()
            check_worker()

        enqueue(app, engine, batch_id)
        follow(engine, batch_id, check)


@contextmanager
def _guarded(engine: Engine) -> Iterator[Callable[[], None]]:
    """Exit with code 1 when the database file is removed or replaced during the block.

    SQLite keeps writing to a removed file, and the data disappears when the last process closes it. Yields a function
    that checks the file, so that the batch ends as soon as this happens.
    """
    from sqlalchemy.exc import SQLAlchemyError

    from cagematch.models.engine import file_of

    file = file_of(engine.url)

    def identity() -> tuple[int, int] | None:
        try:
            found = file.stat() if file else None
        except FileNotFoundError:
            return None
        return (found.st_dev, found.st_ino) if found else None

    def check() -> None:
        if identity() != before:
            lost = "its results are lost; submit the batch again"
            notes().print(f"{file} was removed or replaced while the batch ran: {lost}", style="bold red")
            raise typer.Exit(1)

    before = identity()
    try:
        yield check
    except SQLAlchemyError:  # the tables disappeared with the file
        check()
        raise
    check()
