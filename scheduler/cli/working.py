"""What the commands on batches do between parsing and telling: load, store, work, follow."""

from __future__ import annotations

from contextlib import contextmanager
from typing import TYPE_CHECKING

import typer

from cagematch.problems.errors import FileError, InputError
from cagematch.scheduler.cli.application import INTERRUPTED, notes, output

NAMED = 5  # runs that the end of a batch names
MANY = 10_000_000  # runs

if TYPE_CHECKING:
    from collections.abc import Callable, Iterator

    from rich.console import Console
    from sqlalchemy import Engine

    from cagematch.problems.outcome import Task
    from cagematch.scheduler.batches.experiments import PuzzleFile
    from cagematch.scheduler.batches.puzzle_sets import Loaded
    from cagematch.workers.configurations import Configuration
    from cagematch.workers.connections import Connections


def go_on(connections: Connections, engine: Engine, batch_id: int, *, wait: bool) -> None:
    """Take up what is left of a batch; refused while another process of an embedded database is at work."""
    from cagematch.scheduler.batches.transitions import resume
    from cagematch.scheduler.live.status import claim_database

    if connections.embedded and (other := claim_database(engine)):
        raise InputError(
            f"process {other} is at work on this database; `scheduler watch {batch_id}` shows how far it is"
        )
    left = resume(engine, batch_id, alone=connections.embedded)
    if not left:
        output().print(f"batch {batch_id} has nothing left to do")
        return
    notes().print(f"batch {batch_id}: {left:,} run{'s' * (left > 1)} left")
    work(connections, engine, batch_id, wait=wait)


def load(listed: list[PuzzleFile], *, skip_invalid: bool, contradictions: bool = False) -> list[Loaded]:
    """Read every file before anything is stored; name the faults of all of them together.

    ``contradictions``: take grids whose givens contradict each other, which are there to be repaired.
    """
    from cagematch.scheduler.batches import puzzle_sets as loading

    loaded, faults, total = [], [], 0
    for one in dict.fromkeys(listed):
        try:
            found = loading.load(
                loading.find_source(one.file),
                one.kind,
                one.format,
                skip_invalid=skip_invalid,
                contradictions=contradictions,
            )
        except FileError as error:
            faults += error.faults
            total += error.total
            continue
        if one.sha256 not in (None, found.digest):
            told = f"warning: {one.file} does not hold the puzzles that the experiment was made with"
            notes().print(told, style="yellow")
        loaded.append(found)
    if faults:
        raise FileError(faults, total)
    return loaded


def announce(loaded: list[Loaded], limit: int | None, each: int) -> None:
    """Say how many runs there will be where those are very many: a mistyped --repeat takes years."""
    puzzles = sum(one.distinct if limit is None else min(limit, one.distinct) for one in loaded)
    if puzzles * each > MANY:
        notes().print(f"that makes {puzzles * each:,} runs", style="yellow")


def store(engine: Engine, loaded: list[Loaded]) -> list[int]:
    """Store what was loaded, and say how much of each; return the numbers of the sets."""
    console, sets = notes(), []
    for one in loaded:
        for fault in one.faults[: FileError.SHOWN]:
            console.print(f"left out: {fault}")
        sets.append(_store(engine, one, console))
        left_out = f", {len(one.faults):,} left out" if one.faults else ""
        twice = len(one.rows) - one.distinct
        repeated = f" ({twice:,} of them repeating another)" if twice else ""
        console.print(f"{one.source.name}: {len(one.rows):,} puzzle{'s' * (len(one.rows) > 1)}{repeated}{left_out}")
    return list(dict.fromkeys(sets))


def _store(engine: Engine, one: Loaded, console: Console) -> int:
    from rich.progress import BarColumn, Progress, TextColumn

    from cagematch.scheduler.batches.puzzle_sets import store_set

    columns = (TextColumn("{task.description}", markup=False), BarColumn(), TextColumn("{task.percentage:.0f} %"))
    with Progress(*columns, console=console, transient=True, disable=not console.is_terminal) as bars:
        task = bars.add_task(f"storing {one.source.name}", total=len(one.rows))
        return store_set(engine, one, lambda done, total: bars.update(task, completed=done, total=total))


def require_backends(connections: Connections, engine: Engine, backends: list[str]) -> None:
    """Embedded, what is asked for must be installed here; else workers tell what they have."""
    from cagematch.scheduler.batches.lookup import unserved

    if connections.embedded:
        require_installed(backends)
    elif missing := unserved(engine, backends):
        notes().print(f"no live worker serves {', '.join(missing)}: these runs wait for one", style="yellow")


def require_installed(backends: list[str]) -> None:
    """Say which backends are broken or not installed here, and what installs them."""
    from cagematch.workers.backends import entry, looked_at

    found = {backend: looked_at(backend) for backend in backends}
    if broken := [why for _, why in found.values() if why]:
        raise InputError("\n".join(broken))
    missing = [backend for backend, (version, _) in found.items() if version is None]
    if missing:
        cures = dict.fromkeys(entry(backend).cure(backend) for backend in missing)
        raise InputError(f"not installed: {', '.join(missing)}. To install: {'; '.join(cures)}")


def require_task(chosen: list[Configuration], task: Task) -> None:
    """Say which configurations cannot do a task: their runs will be unsupported. None that can is an error."""
    from cagematch.workers.backends import all_backends, load

    lacking = [configuration.text for configuration in chosen if task not in load(configuration.backend).TASKS]
    if len(lacking) == len(chosen):
        able = [name for name in all_backends() if task in load(name).TASKS]
        raise InputError(f"none of {', '.join(lacking)} does the task {task}; these do: {', '.join(able)}")
    if lacking:
        notes().print(f"{', '.join(lacking)}: not able to do the task {task}, told as unsupported", style="yellow")


def work(connections: Connections, engine: Engine, batch_id: int, *, wait: bool) -> None:
    """Have a batch solved: here when embedded, else by the workers."""
    from cagematch.scheduler.live.outages import answers
    from cagematch.workers.connections import without_password
    from cagematch.workers.queues.dispatch import enqueue
    from cagematch.workers.service.app import make_app

    if connections.embedded:
        _work_here(connections, engine, batch_id)
        return
    # A worker may have been quicker to mark the shards as sent: then there is nothing left that could fail to be.
    if enqueue(make_app(connections), engine, batch_id) and answers(connections.broker):
        output().print(f"batch {batch_id} is with the workers; `scheduler watch {batch_id}` shows how far they are")
    else:
        place = without_password(connections.broker)
        output().print(
            f"batch {batch_id} is stored; the broker {place} does not answer, and workers begin when it does"
        )
    if wait:
        follow_workers(connections, engine, batch_id)


def _work_here(connections: Connections, engine: Engine, batch_id: int) -> None:
    from cagematch.scheduler.live.embedded import embedded_worker, interruptible
    from cagematch.workers.queues.dispatch import enqueue
    from cagematch.workers.service.app import make_app

    app_here = make_app(connections, only_batch=batch_id)
    told = f"interrupted; `scheduler resume {batch_id}` goes on with the runs that are left"
    with interrupted(told), interruptible(), _kept(engine) as is_there, embedded_worker(app_here) as check:

        def look() -> None:
            is_there()
            check()

        enqueue(app_here, engine, batch_id)
        follow(engine, batch_id, look)


@contextmanager
def _kept(engine: Engine) -> Iterator[Callable[[], None]]:
    """Within the block, the database's file stays the one that it was; exit code 1 where it did not.

    SQLite goes on with a file that has been removed, and what it writes vanishes with the last that has it open.
    Gives a function that looks, so that the batch ends when that happens.
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

    def look() -> None:
        if identity() != before:
            notes().print(f"{file} was removed or replaced under the batch: its results are lost", style="bold red")
            raise typer.Exit(1)

    before = identity()
    try:
        yield look
    except SQLAlchemyError:  # tables that are not there any more
        look()
        raise
    look()


def follow_workers(connections: Connections, engine: Engine, batch_id: int) -> None:
    """Show what workers elsewhere do, and which service they wait for; they go on when nobody looks."""
    from cagematch.scheduler.live.outages import broker_watch

    more = f"`scheduler watch {batch_id}` shows it again, `scheduler cancel {batch_id}` drops what is left"
    with interrupted(f"the workers go on with batch {batch_id}; {more}"):
        follow(engine, batch_id, broker_watch(connections.broker, notes()))


@contextmanager
def interrupted(told: str) -> Iterator[None]:
    """Within the block, Ctrl-C ends the command with a word on how to go on."""
    try:
        yield
    except KeyboardInterrupt:
        notes().print(told)
        raise typer.Exit(INTERRUPTED) from None


def follow(engine: Engine, batch_id: int, check: Callable[[], None] | None = None) -> None:
    """Show progress to the end, and what a task has found of the puzzles; exit code 1 when something is wrong."""
    from cagematch.scheduler.cli.findings import tell
    from cagematch.scheduler.live.progress import failed_runs
    from cagematch.scheduler.live.watch import conclusion, watch
    from cagematch.scheduler.reports.runs import refuted

    end = watch(engine, batch_id, notes(), check or (lambda: None))
    told, failed = conclusion(end)
    output().print(told)
    improper = tell(engine, batch_id)
    if lies := refuted(engine, batch_id):
        runs = "1 run is" if lies == 1 else f"{lies:,} runs are"
        notes().print(f"{runs} WRONG: others have solutions that refute what they say", style="bold red")
    if failed:
        for line in failed_runs(engine, batch_id, NAMED):
            notes().print(line, style="bold red")
        notes().print("`scheduler show` with a run's number tells more")
    if failed or improper or lies:
        raise typer.Exit(1)
