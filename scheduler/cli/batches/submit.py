"""The command ``submit``."""

from __future__ import annotations

from typing import TYPE_CHECKING

import typer

from cagematch.problems.outcome import Task
from cagematch.scheduler.batches.bounds import DEFAULT_BOUND
from cagematch.scheduler.cli import options
from cagematch.scheduler.cli.connection import connect
from cagematch.scheduler.cli.execution import resume_batch, run
from cagematch.scheduler.cli.files import announce, load, store
from cagematch.scheduler.cli.output import notes, warn
from cagematch.scheduler.cli.request import Settings, is_typed, read_request, refuse_conflicts
from cagematch.scheduler.cli.requirements import require_backends, require_task

if TYPE_CHECKING:
    from sqlalchemy import Engine

    from cagematch.scheduler.batches.puzzle_sets import Loaded
    from cagematch.workers.configurations import Configuration

DEFAULT_SOLVERS = ["@default"]
EXAMPLES = (
    "scheduler submit hard -s cp-sat -s scip --limit 10",
    "scheduler submit queens --task unique --timeout 500ms --limit 3",
)


def submit(
    context: typer.Context,
    files: options.Files = None,
    solver: options.Solvers = None,
    task: options.Task = Task.SOLVE,
    bound: options.Bound = DEFAULT_BOUND,
    timeout: options.Timeout = "3s",
    memory: options.Memory = "2GiB",
    repeat: options.Repeat = 1,
    seed: options.Seed = 0,
    permute: options.Permute = False,
    limit: options.Limit = None,
    priority: options.Priority = 0,
    name: options.Name = None,
    kind: options.Kind = None,
    form: options.FileFormat = None,
    skip_invalid: options.SkipInvalid = False,
    to: options.To = None,
    wait: options.Wait = False,
) -> None:
    """Run configurations on puzzles and store every run.

    Options on the command line override those of an experiment file. `scheduler report` compares the configurations.
    """
    from cagematch.workers.configurations import configurations

    settings = Settings(task, bound, timeout, memory, repeat, seed, permute, limit, priority, name)
    request = read_request(context, files or [], (kind, form), solver or [], settings)
    refuse_conflicts(context, request, to)
    chosen = configurations(request.solvers or DEFAULT_SOLVERS)
    settings = request.settings
    settings.plan([], [], None)  # reports an invalid duration or size before any file is read
    loaded = load(request.puzzles, skip_invalid=skip_invalid, contradictions=settings.task == Task.REPAIR)
    if to is not None:
        _extend(to, chosen, wait=wait)
    else:
        _create(context, settings, loaded, chosen, wait=wait)


def _extend(to: str, chosen: list[Configuration], *, wait: bool) -> None:
    """Add configurations to an existing batch and resume it."""
    from cagematch.scheduler.batches import lookup, transitions

    connections, engine = connect()
    require_backends(connections, engine, [c.backend for c in chosen])
    batch_id = lookup.find_batch(engine, to)
    if not transitions.add_configurations(engine, batch_id, chosen):
        notes().print(f"batch {batch_id} already has these configurations")
    resume_batch(connections, engine, batch_id, wait=wait)


def _create(
    context: typer.Context, settings: Settings, loaded: list[Loaded], chosen: list[Configuration], *, wait: bool
) -> None:
    """Store the puzzles, create a batch and run it."""
    from cagematch.scheduler.batches import creation

    if settings.permute:
        _warn_unpermuted({one.kind for one in loaded})
    connections, engine = connect()
    require_backends(connections, engine, [c.backend for c in chosen])
    require_task(chosen, Task(settings.task))
    name = _free_name(context, engine, settings.name)
    announce(loaded, settings.limit, len(chosen) * settings.repeat)
    sets = store(engine, loaded)
    if settings.limit == 0:
        notes().print("stored the sets without creating a batch (--limit 0)")
        return
    run(connections, engine, creation.create(engine, settings.plan(sets, chosen, name)), wait=wait)


def _warn_unpermuted(kinds: set[str]) -> None:
    from cagematch.problems.kinds import KINDS, Symmetric

    if unpermuted := [kind for kind in sorted(kinds) if not isinstance(KINDS[kind], Symmetric)]:
        warn(f"--permute has no effect on puzzles of kind {', '.join(unpermuted)}")


def _free_name(context: typer.Context, engine: Engine, name: str | None) -> str | None:
    """Return the batch's name: a typed one must be free, one from an experiment gets a number where it is not."""
    from cagematch.scheduler.batches import lookup

    if name is None:
        return None
    if not is_typed(context, "name"):
        name = lookup.free_name(engine, name)
    lookup.require_free(engine, name)
    return name
