"""Commands on batches: submit, status, watch, cancel, resume."""

from __future__ import annotations

import json
from typing import Annotated

import typer

from problems.errors import InputError
from problems.outcome import Asked, Task
from scheduler.cli.application import Batch, app, connect, mebibytes, notes, output, seconds
from scheduler.cli.working import announce, follow, go_on, load, require_backends, require_task, store, work

DEFAULT = ("@default",)
MOST_SOLUTIONS = 1_000_000_000
LARGEST_SEED = 2**31 - 10_000  # leaves room for a seed a repeat in the 32 bits that solvers take
FIXED = (
    "task",
    "bound",
    "timeout",
    "memory",
    "repeat",
    "seed",
    "limit",
    "name",
)  # options that a batch has from its beginning
Wait = Annotated[bool, typer.Option("--wait", help="With Redis: show progress until the batch is done.")]


@app.command()
def submit(
    context: typer.Context,
    files: Annotated[
        list[str] | None,
        typer.Argument(metavar="FILE|SET", help="Puzzle files, - for standard input, or shipped sets."),
    ] = None,
    solver: Annotated[
        list[str] | None,
        typer.Option(
            "-s",
            "--solver",
            metavar="CONFIG",
            help="A configuration, a preset, a sweep (var=*) or a @group, once or more; `scheduler solvers` lists "
            "them.  [default: @default]",
        ),
    ] = None,
    task: Annotated[
        Task,
        typer.Option(
            help="solve: find a solution. unique: is there exactly one? count: find them all. repair: mend the given "
            "values with the fewest changes."
        ),
    ] = Task.SOLVE,
    bound: Annotated[
        int, typer.Option(metavar="N", min=1, max=MOST_SOLUTIONS, help="With --task count: the most to look for.")
    ] = 100_000,
    timeout: Annotated[str, typer.Option(metavar="TIME", help="Wall time a run: 500ms, 3s, 2m.")] = "3s",
    memory: Annotated[str, typer.Option(metavar="SIZE", help="Resident memory a run: 512MiB, 2GiB.")] = "2GiB",
    repeat: Annotated[int, typer.Option(metavar="N", min=1, help="Runs of each puzzle and configuration.")] = 1,
    seed: Annotated[
        int, typer.Option(metavar="N", min=0, max=LARGEST_SEED, help="Shuffles the puzzles, seeds the solvers.")
    ] = 0,
    limit: Annotated[
        int | None,
        typer.Option(metavar="N", min=0, help="Only the first N puzzles of each set; 0 loads them and runs none."),
    ] = None,
    name: Annotated[str | None, typer.Option(metavar="TEXT", help="A name for the batch.")] = None,
    kind: Annotated[
        str | None,
        typer.Option(metavar="KIND", help="What files hold that do not say it themselves; without it, sudoku."),
    ] = None,
    form: Annotated[
        str | None, typer.Option("--format", metavar="FORMAT", help="How the files are written, if not found out.")
    ] = None,
    skip_invalid: Annotated[
        bool, typer.Option("--skip-invalid", help="Take the valid puzzles of a file with faults.")
    ] = False,
    to: Annotated[
        str | None,
        typer.Option("--to", metavar="BATCH", help="Add the configurations to a batch, and go on with it."),
    ] = None,
    wait: Wait = False,
) -> None:
    """Solve puzzles with several configurations. What came of each run is stored, and `report` compares them."""
    from scheduler import batches
    from workers.configurations import configurations

    if task is not Task.COUNT and _given(context, "bound"):
        raise InputError(f"--bound is for --task count; the task is {task}")
    chosen = configurations(list(solver or DEFAULT))
    time_s, memory_mib = seconds(timeout), mebibytes(memory)
    if files and to is not None:
        raise InputError(f"both puzzle files and --to {to} were given; a batch has its puzzles, so name one of the two")
    if not files and to is None:
        raise InputError("name puzzle files or sets to solve, or a batch to add to with --to")
    loaded = load(files or [], kind, form, skip_invalid=skip_invalid)
    connections, engine = connect()
    require_backends(connections, engine, [c.backend for c in chosen])
    if to is not None:
        _refuse_fixed(context)
        batch_id = batches.find_batch(engine, to)
        if not batches.add_configurations(engine, batch_id, chosen):
            notes().print(f"batch {batch_id} has these configurations already")
        go_on(connections, engine, batch_id, wait=wait)
        return
    require_task(chosen, task)
    if name is not None:
        batches.require_free(engine, name)
    announce(loaded, limit, len(chosen) * repeat)
    sets = store(engine, loaded)
    if limit == 0:
        notes().print("loaded; no runs asked for (--limit 0)")
        return
    plan = batches.Plan(sets, chosen, time_s, memory_mib, repeat, seed, limit, name, Asked(task, bound))
    work(connections, engine, batches.create(engine, plan), wait=wait)


@app.command()
def status(
    batch: Batch = None,
    as_json: Annotated[bool, typer.Option("--json", help="For programs.")] = False,
) -> None:
    """List the batches and the live workers. Says, too, what waits for a worker that is not there."""
    from scheduler.batches import find_batch
    from scheduler.status import draw, status_of

    connections, engine = connect(quiet=as_json, reads_only=True)
    found = status_of(engine, find_batch(engine, batch) if batch else None, embedded=connections.embedded)
    if as_json:
        typer.echo(json.dumps(found, indent=2))
    else:
        draw(found, output(), detailed=batch is not None)


@app.command()
def watch(batch: Batch = None) -> None:
    """Show a batch's progress until it is done."""
    from scheduler.batches import find_batch
    from scheduler.status import abandoned

    connections, engine = connect(reads_only=True)
    batch_id = find_batch(engine, batch)
    follow(engine, batch_id, abandoned(engine, batch_id) if connections.embedded else None)


@app.command()
def cancel(batch: Batch = None) -> None:
    """Drop a batch's unfinished runs at once. Runs under way are killed and do not count."""
    from scheduler import batches

    _, engine = connect()
    batch_id = batches.find_batch(engine, batch)
    if dropped := batches.cancel(engine, batch_id):
        runs = "1 run" if dropped == 1 else f"{dropped:,} runs"
        output().print(f"batch {batch_id}: {runs} dropped; `scheduler resume {batch_id}` takes them up again")
    else:
        output().print(f"batch {batch_id} has nothing left to drop")


@app.command()
def resume(batch: Batch = None, wait: Wait = False) -> None:
    """Go on with an interrupted or cancelled batch. What is stored is not done again."""
    from scheduler.batches import find_batch

    connections, engine = connect()
    go_on(connections, engine, find_batch(engine, batch), wait=wait)


def _refuse_fixed(context: typer.Context) -> None:
    """With --to, options that would change the batch are a mistake."""
    for name in FIXED:
        if _given(context, name):
            raise InputError(f"--{name} cannot go with --to: the batch has its own from its beginning")


def _given(context: typer.Context, option: str) -> bool:
    source = context.get_parameter_source(option)
    return source is not None and source.name != "DEFAULT"
