"""Commands on batches: submit, status, watch, cancel, resume."""

from __future__ import annotations

import json
from typing import TYPE_CHECKING, Annotated

import typer

from problems.errors import FileError, InputError
from scheduler.cli.application import Batch, app, connect, mebibytes, notes, output, seconds

if TYPE_CHECKING:
    from sqlalchemy import Engine

    from scheduler.loading import Loaded
    from workers.configurations import Configuration
    from workers.connections import Connections

DEFAULT = ("@default",)


@app.command()
def submit(  # noqa: PLR0913 - each is an option of the command
    files: Annotated[
        list[str] | None, typer.Argument(metavar="[FILE|SET]...", help="Puzzle files, or shipped sets by name.")
    ] = None,
    solver: Annotated[
        list[str] | None,
        typer.Option(
            "-s",
            "--solver",
            metavar="CONFIG",
            help="A configuration, a preset, a sweep (var=*) or a @group. [@default]",
        ),
    ] = None,
    timeout: Annotated[str, typer.Option(help="Wall time a run.")] = "3s",
    memory: Annotated[str, typer.Option(help="Resident memory a run.")] = "2GiB",
    repeat: Annotated[int, typer.Option(min=1, help="Runs of each puzzle and configuration.")] = 1,
    seed: Annotated[int, typer.Option(min=0, max=2**31 - 10_000, help="Shuffles the puzzles, seeds the solvers.")] = 0,
    limit: Annotated[
        int | None, typer.Option(min=0, help="Only the first N puzzles of each set; 0 loads them and runs none.")
    ] = None,
    name: Annotated[str | None, typer.Option(help="A name for the batch.")] = None,
    kind: Annotated[str, typer.Option(help="What the files hold.")] = "sudoku",
    form: Annotated[
        str | None, typer.Option("--format", help="How the files are written; found out by default.")
    ] = None,
    skip_invalid: Annotated[
        bool, typer.Option("--skip-invalid", help="Take the valid puzzles of a file with faults.")
    ] = False,
    to: Annotated[
        str | None, typer.Option("--to", metavar="BATCH", help="Add the configurations to a batch instead.")
    ] = None,
    wait: Annotated[bool, typer.Option("--wait", help="With Redis: show progress until the batch is done.")] = False,
) -> None:
    """Solve the puzzles of files with several configurations and store what came of it."""
    from scheduler import batches
    from workers.configurations import configurations

    chosen = configurations(list(solver or DEFAULT))
    time_s, memory_mib = seconds(timeout), mebibytes(memory)
    if bool(files) == bool(to):
        raise InputError("name puzzle files or sets to solve, or a batch to add to with --to (one of the two)")
    if name and name.isdigit():
        raise InputError(f"a batch cannot be called {name!r}: numbers are numbers of batches")
    loaded = _load(files or [], kind, form, skip_invalid=skip_invalid)
    connections, engine = connect()
    _require_backends(connections, engine, [c.backend for c in chosen])
    if to:
        batch_id = batches.find_batch(engine, to)
        if not batches.add_configurations(engine, batch_id, chosen):
            notes().print(f"batch {batch_id} has these configurations already")
    else:
        sets = _store(engine, loaded)
        if limit == 0:
            notes().print("loaded; no runs asked for (--limit 0)")
            return
        plan = batches.Plan(sets, chosen, time_s, memory_mib, repeat, seed, limit, name)
        batch_id = batches.create(engine, plan)
    _work(connections, engine, batch_id, wait=wait)


@app.command()
def status(
    batch: Batch = None,
    as_json: Annotated[bool, typer.Option("--json", help="For programs.")] = False,
) -> None:
    """List the batches, the live workers, and what waits for a worker that is not there."""
    from scheduler.batches import find_batch
    from scheduler.status import draw, status_of

    _, engine = connect(quiet=as_json)
    found = status_of(engine, find_batch(engine, batch) if batch else None)
    if as_json:
        typer.echo(json.dumps(found, indent=2))
    else:
        draw(found, output())


@app.command()
def watch(batch: Batch = None) -> None:
    """Show a batch's progress until it is done."""
    from scheduler.batches import find_batch

    _, engine = connect()
    _follow(engine, find_batch(engine, batch))


@app.command()
def cancel(batch: Batch = None) -> None:
    """Drop a batch's unfinished runs at once; runs under way are killed and do not count."""
    from scheduler import batches

    _, engine = connect()
    batch_id = batches.find_batch(engine, batch)
    dropped = batches.cancel(engine, batch_id)
    output().print(f"batch {batch_id}: {dropped} runs dropped; `scheduler resume {batch_id}` takes them up again")


@app.command()
def resume(
    batch: Batch = None,
    wait: Annotated[bool, typer.Option("--wait", help="With Redis: show progress until the batch is done.")] = False,
) -> None:
    """Go on with a batch that was interrupted or cancelled; what is stored is not done again."""
    from scheduler import batches
    from scheduler.status import other_processes

    connections, engine = connect()
    batch_id = batches.find_batch(engine, batch)
    others = other_processes(engine) if connections.embedded else []
    if others:
        raise InputError(
            f"process {others[0]} is at work on this database; `scheduler watch {batch_id}` shows how far it is"
        )
    left = batches.resume(engine, batch_id, alone=connections.embedded)
    if not left:
        output().print(f"batch {batch_id} has nothing left to do")
        return
    notes().print(f"batch {batch_id}: {left} runs left")
    _work(connections, engine, batch_id, wait=wait)


def _load(words: list[str], kind: str, form: str | None, *, skip_invalid: bool) -> list[Loaded]:
    """Read every file before anything is stored; name the faults of all of them together."""
    from scheduler.loading import find_source, load

    loaded, faults, total = [], [], 0
    for word in dict.fromkeys(words):
        try:
            loaded.append(load(find_source(word), kind, form, skip_invalid=skip_invalid))
        except FileError as error:
            faults += error.faults
            total += error.total
    if faults:
        raise FileError(faults, total)
    return loaded


def _store(engine: Engine, loaded: list[Loaded]) -> list[int]:
    from rich.progress import Progress

    from scheduler.loading import store_set

    console, sets = notes(), []
    for one in loaded:
        for fault in one.faults[: FileError.SHOWN]:
            console.print(f"left out: {fault}", markup=False)
        with Progress(console=console, transient=True, disable=not console.is_terminal) as bars:
            task = bars.add_task(f"storing {one.source.name}", total=len(one.rows))
            sets.append(store_set(engine, one, lambda done, _, task=task: bars.update(task, completed=done)))
        left_out = f", {len(one.faults)} left out" if one.faults else ""
        twice = len(one.rows) - one.distinct
        repeated = f" ({twice} of them a repetition of another)" if twice else ""
        console.print(f"{one.source.name}: {len(one.rows):,} puzzles{repeated}{left_out}", markup=False)
    return sets


def _require_backends(connections: Connections, engine: Engine, backends: list[str]) -> None:
    """Embedded, what is asked for must be installed here; else workers tell what they have."""
    from scheduler.batches import unserved
    from workers.backends import entry, version

    if connections.embedded:
        for backend in dict.fromkeys(backends):
            if version(backend) is None:
                extra = entry(backend).extra or backend
                raise InputError(f"{backend} is not installed; `pip install 'cagematch[{extra}]'` installs it")
    elif missing := unserved(engine, backends):
        notes().print(f"no live worker serves {', '.join(missing)}: these runs wait for one", style="yellow")


def _work(connections: Connections, engine: Engine, batch_id: int, *, wait: bool) -> None:
    from workers.app import make_app
    from workers.queueing import enqueue

    if connections.embedded:
        _work_here(connections, engine, batch_id)
        return
    enqueue(make_app(connections), engine, batch_id)
    output().print(f"batch {batch_id} is with the workers; `scheduler watch {batch_id}` shows how far they are")
    if wait:
        _follow(engine, batch_id)


def _work_here(connections: Connections, engine: Engine, batch_id: int) -> None:
    from scheduler.embedded import embedded_worker
    from workers.app import make_app
    from workers.queueing import enqueue

    app_here = make_app(connections, only_batch=batch_id)
    try:
        with embedded_worker(app_here) as check:
            enqueue(app_here, engine, batch_id)
            _follow(engine, batch_id, check)
    except KeyboardInterrupt:
        notes().print(f"interrupted; `scheduler resume {batch_id}` goes on with the runs that are left")
        raise typer.Exit(130) from None


def _follow(engine: Engine, batch_id: int, check: object = None) -> None:
    """Show progress to the end; exit code 1 when a run was wrong or failed."""
    from scheduler.watch import conclusion, watch

    end = watch(engine, batch_id, notes(), check if callable(check) else lambda: None)
    told, failed = conclusion(end)
    output().print(told)
    if failed:
        raise typer.Exit(1)
