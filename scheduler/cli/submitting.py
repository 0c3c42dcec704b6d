"""Commands that make a batch: submit, and rerun, which makes one again."""

from __future__ import annotations

from dataclasses import dataclass, fields, replace
from pathlib import Path
from typing import TYPE_CHECKING, Annotated, Any

import typer

from cagematch.problems.errors import InputError
from cagematch.problems.outcome import Asked, Task
from cagematch.scheduler.batches.bounds import DEFAULT_BOUND, LARGEST_SEED, MOST_SOLUTIONS, PRIORITIES
from cagematch.scheduler.cli.application import Batch, Wait, app, connect, mebibytes, notes, seconds
from cagematch.scheduler.cli.working import announce, go_on, load, require_backends, require_task, store, work

if TYPE_CHECKING:
    from sqlalchemy import Engine

    from cagematch.scheduler.batches.creation import Plan
    from cagematch.scheduler.batches.experiments import PuzzleFile

DEFAULT = ("@default",)


@dataclass(frozen=True, slots=True)
class Wanted:
    """The options that a batch has from its beginning, as they are typed."""

    task: str
    bound: int
    timeout: str
    memory: str
    repeat: int
    seed: int
    permute: bool
    limit: int | None
    priority: int
    name: str | None

    def plan(self, sets: list[int], configurations: list[Any], name: str | None) -> Plan:
        """The plan that they come to."""
        from cagematch.scheduler.batches.creation import Plan

        return Plan(
            sets,
            configurations,
            seconds(self.timeout),
            mebibytes(self.memory),
            self.repeat,
            self.seed,
            self.limit,
            name,
            Asked(Task(self.task), self.bound),
            self.permute,
            self.priority,
        )


@app.command()
def submit(
    context: typer.Context,
    files: Annotated[
        list[str] | None,
        typer.Argument(
            metavar="FILE|SET|EXPERIMENT.toml",
            help="Puzzle files, - for standard input, or shipped sets; or a file that describes a whole comparison.",
        ),
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
    ] = DEFAULT_BOUND,
    timeout: Annotated[str, typer.Option(metavar="TIME", help="Wall time a run: 500ms, 3s, 2m.")] = "3s",
    memory: Annotated[str, typer.Option(metavar="SIZE", help="Resident memory a run: 512MiB, 2GiB.")] = "2GiB",
    repeat: Annotated[
        int,
        typer.Option(metavar="N", min=1, help="Runs of each puzzle and configuration, each with a seed of its own."),
    ] = 1,
    seed: Annotated[
        int, typer.Option(metavar="N", min=0, max=LARGEST_SEED, help="Shuffles the puzzles, seeds the solvers.")
    ] = 0,
    permute: Annotated[
        bool,
        typer.Option(
            "--permute",
            help="Solve each repeat of a Sudoku under another symmetry: digits renamed, rows and columns swapped.",
        ),
    ] = False,
    limit: Annotated[
        int | None,
        typer.Option(metavar="N", min=0, help="Only the first N puzzles of each set; 0 loads them and runs none."),
    ] = None,
    priority: Annotated[
        int,
        typer.Option(metavar="N", min=PRIORITIES[0], max=PRIORITIES[1], help="Of batches at work, more goes first."),
    ] = 0,
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
    from cagematch.scheduler.batches.creation import create
    from cagematch.scheduler.batches.lookup import find_batch
    from cagematch.scheduler.batches.transitions import add_configurations
    from cagematch.workers.configurations import configurations

    wanted = Wanted(task, bound, timeout, memory, repeat, seed, permute, limit, priority, name)
    listed, solvers, wanted = _asked_for(context, files or [], (kind, form), solver or [], wanted)
    _refuse_mistakes(context, bool(listed), to, wanted)
    chosen = configurations(solvers or list(DEFAULT))
    wanted.plan([], [], None)  # a time or a size that is none is told before files are read
    loaded = load(listed, skip_invalid=skip_invalid, contradictions=wanted.task == Task.REPAIR)
    if wanted.permute:
        _tell_unpermuted({one.kind for one in loaded})
    connections, engine = connect()
    require_backends(connections, engine, [c.backend for c in chosen])
    if to is not None:
        batch_id = find_batch(engine, to)
        if not add_configurations(engine, batch_id, chosen):
            notes().print(f"batch {batch_id} has these configurations already")
        go_on(connections, engine, batch_id, wait=wait)
        return
    require_task(chosen, Task(wanted.task))
    called = _named(context, engine, wanted.name)
    announce(loaded, wanted.limit, len(chosen) * wanted.repeat)
    sets = store(engine, loaded)
    if wanted.limit == 0:
        notes().print("loaded; no runs asked for (--limit 0)")
        return
    work(connections, engine, create(engine, wanted.plan(sets, chosen, called)), wait=wait)


@app.command()
def rerun(batch: Batch = None, wait: Wait = False) -> None:
    """Do a batch again, and tell what differs. It has the same puzzles, configurations, seeds and limits."""
    from cagematch.scheduler.batches import differences
    from cagematch.scheduler.batches.creation import create, plan_again
    from cagematch.scheduler.batches.lookup import find_batch

    connections, engine = connect()
    earlier = find_batch(engine, batch)
    plan = plan_again(engine, earlier)
    require_backends(connections, engine, [c.backend for c in plan.configurations])
    later = create(engine, plan)
    notes().print(f"batch {later} does batch {earlier} again")
    try:
        work(connections, engine, later, wait=wait)
    finally:
        for line in differences.compare(engine, earlier, later):
            notes().print(line, style="yellow" if line.startswith("warning") else None)


def _asked_for(
    context: typer.Context, files: list[str], how: tuple[str | None, str | None], solver: list[str], wanted: Wanted
) -> tuple[list[PuzzleFile], list[str], Wanted]:
    """The puzzle files, the configurations and the options: an experiment's, but what is typed besides goes first."""
    from cagematch.scheduler.batches.experiments import SUFFIX, PuzzleFile, read

    if not any(file.lower().endswith(SUFFIX) for file in files):
        return [PuzzleFile(file, *how) for file in files], solver, wanted
    if len(files) > 1:
        raise InputError(f"{len(files)} files were given, and an experiment among them, which names its puzzles itself")
    experiment = read(Path(files[0]))
    given = {each.name for each in fields(wanted) if _given(context, each.name)}
    kept = {name: value for name, value in experiment.options.items() if name not in given}
    listed = [replace(one, kind=one.kind or how[0], format=one.format or how[1]) for one in experiment.puzzles]
    return listed, solver or experiment.solvers, replace(wanted, **kept)


def _refuse_mistakes(context: typer.Context, puzzles: bool, to: str | None, wanted: Wanted) -> None:
    if puzzles and to is not None:
        raise InputError(f"both puzzle files and --to {to} were given; a batch has its puzzles, so name one of the two")
    if not puzzles and to is None:
        raise InputError("name puzzle files or sets to solve, or a batch to add to with --to")
    if wanted.task != Task.COUNT and _given(context, "bound"):
        raise InputError(f"--bound is for --task count; the task is {wanted.task}")
    for each in fields(wanted) if to is not None else ():
        if _given(context, each.name):
            raise InputError(f"--{each.name} cannot go with --to: the batch has its own from its beginning")


def _tell_unpermuted(kinds: set[str]) -> None:
    from cagematch.problems.kinds import KINDS, Symmetric

    if still := [kind for kind in sorted(kinds) if not isinstance(KINDS[kind], Symmetric)]:
        notes().print(f"--permute changes nothing for puzzles of the kind {', '.join(still)}", style="yellow")


def _named(context: typer.Context, engine: Engine, name: str | None) -> str | None:
    """The batch's name: one that was typed must be free, one of an experiment gets a number where it is not."""
    from cagematch.scheduler.batches.lookup import free_name, require_free

    if name is None:
        return None
    if not _given(context, "name"):
        name = free_name(engine, name)
    require_free(engine, name)
    return name


def _given(context: typer.Context, option: str) -> bool:
    source = context.get_parameter_source(option)
    return source is not None and source.name != "DEFAULT"
