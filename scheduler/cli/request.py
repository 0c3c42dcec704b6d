"""What a submit requests: puzzles, configurations and settings, from the command line and an experiment file."""

from __future__ import annotations

from dataclasses import dataclass, fields, replace
from pathlib import Path
from typing import TYPE_CHECKING

import typer

from cagematch.problems.errors import InputError
from cagematch.problems.outcome import Asked, Task
from cagematch.scheduler.cli.units import mebibytes, seconds

if TYPE_CHECKING:
    from cagematch.scheduler.batches.creation import Plan
    from cagematch.scheduler.batches.experiments import PuzzleFile
    from cagematch.workers.configurations import Configuration


@dataclass(frozen=True, slots=True)
class Settings:
    """The options that a batch keeps from its creation, as typed; the names are those of the options."""

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

    def plan(self, sets: list[int], configurations: list[Configuration], name: str | None) -> Plan:
        """Build the plan of a batch. Raises InputError for an invalid duration or size."""
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


@dataclass(frozen=True, slots=True)
class Request:
    """Puzzles to load, words for configurations, and settings."""

    puzzles: list[PuzzleFile]
    solvers: list[str]
    settings: Settings


def read_request(
    context: typer.Context,
    files: list[str],
    reading: tuple[str | None, str | None],
    solvers: list[str],
    typed: Settings,
) -> Request:
    """Combine the command line with the experiment file, if one is among the files; the command line overrides it.

    Parameters
    ----------
    reading
        Kind and format of the files that do not declare theirs.
    typed
        Settings from the command line, including defaults.

    Raises
    ------
    InputError
        An experiment file is given together with other files.
    FileError
        The experiment file has faults.

    """
    from cagematch.scheduler.batches.experiments import SUFFIX, PuzzleFile, read

    kind, form = reading
    if not any(file.lower().endswith(SUFFIX) for file in files):
        return Request([PuzzleFile(file, kind, form) for file in files], solvers, typed)
    if len(files) > 1:
        raise InputError(
            f"found {len(files)} files with an experiment among them, expected the experiment alone; "
            "add the other files to its key puzzles"
        )
    experiment = read(Path(files[0]))
    overridden = {each.name for each in fields(typed) if is_typed(context, each.name)}
    settings = {name: value for name, value in experiment.options.items() if name not in overridden}
    puzzles = [replace(one, kind=one.kind or kind, format=one.format or form) for one in experiment.puzzles]
    return Request(puzzles, solvers or experiment.solvers, replace(typed, **settings))


def refuse_conflicts(context: typer.Context, request: Request, to: str | None) -> None:
    """Raise InputError for options that exclude each other, and where puzzles are missing."""
    if request.puzzles and to is not None:
        raise InputError(
            f"found both puzzle files and --to {to}, expected one of them; the puzzles of a batch cannot change"
        )
    if not request.puzzles and to is None:
        raise InputError("found no puzzles, expected files, shipped sets or --to BATCH; try `scheduler submit hard`")
    if request.settings.task != Task.COUNT and is_typed(context, "bound"):
        raise InputError(f"--bound requires --task count; the task is {request.settings.task}")
    for each in fields(request.settings) if to is not None else ():
        if is_typed(context, each.name):
            raise InputError(f"--{each.name} cannot be combined with --to; a batch keeps the value from its creation")


def is_typed(context: typer.Context, option: str) -> bool:
    """Whether an option is on the command line, rather than at its default."""
    source = context.get_parameter_source(option)
    return source is not None and source.name != "DEFAULT"
