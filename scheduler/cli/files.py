"""Loading puzzle files into the database, with progress and a summary of each file."""

from __future__ import annotations

from typing import TYPE_CHECKING

from cagematch.problems.errors import FileError
from cagematch.scheduler.cli.output import notes, plural, warn

if TYPE_CHECKING:
    from rich.console import Console
    from sqlalchemy import Engine

    from cagematch.scheduler.batches.experiments import PuzzleFile
    from cagematch.scheduler.batches.puzzle_sets import Loaded

MANY_RUNS = 10_000_000


def load(listed: list[PuzzleFile], *, skip_invalid: bool, contradictions: bool = False) -> list[Loaded]:
    """Read every file before anything is stored.

    Parameters
    ----------
    listed
        Files to read; duplicates are read once.
    contradictions
        Accept grids whose clues contradict each other, which the task repair needs.

    Raises
    ------
    FileError
        With the faults of all files.

    """
    from cagematch.scheduler.batches import puzzle_sets

    loaded, faults, total = [], [], 0
    for one in dict.fromkeys(listed):
        try:
            found = puzzle_sets.load(
                puzzle_sets.find_source(one.file),
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
            warn(f"warning: the puzzles in {one.file} differ from those the experiment was exported with")
        loaded.append(found)
    if faults:
        raise FileError(faults, total)
    return loaded


def announce(loaded: list[Loaded], limit: int | None, runs_per_puzzle: int) -> None:
    """Print the number of runs where it is very large: a mistyped --repeat may run for years."""
    puzzles = sum(one.distinct if limit is None else min(limit, one.distinct) for one in loaded)
    if puzzles * runs_per_puzzle > MANY_RUNS:
        warn(f"this batch has {puzzles * runs_per_puzzle:,} runs; Ctrl-C stops it")


def store(engine: Engine, loaded: list[Loaded]) -> list[int]:
    """Store loaded files, print a summary of each, and return the numbers of their sets."""
    console, sets = notes(), []
    for one in loaded:
        for fault in one.faults[: FileError.SHOWN]:
            console.print(f"skipped: {fault}")
        sets.append(_store(engine, one, console))
        skipped = f", {len(one.faults):,} skipped" if one.faults else ""
        duplicates = len(one.rows) - one.distinct
        repeated = f" ({plural(duplicates, 'duplicate')})" if duplicates else ""
        console.print(f"{one.source.name}: {plural(len(one.rows), 'puzzle')}{repeated}{skipped}")
    return list(dict.fromkeys(sets))


def _store(engine: Engine, one: Loaded, console: Console) -> int:
    from rich.progress import BarColumn, Progress, TextColumn

    from cagematch.scheduler.batches.puzzle_sets import store_set

    columns = (TextColumn("{task.description}", markup=False), BarColumn(), TextColumn("{task.percentage:.0f} %"))
    with Progress(*columns, console=console, transient=True, disable=not console.is_terminal) as bars:
        task = bars.add_task(f"storing {one.source.name}", total=len(one.rows))
        return store_set(engine, one, lambda done, total: bars.update(task, completed=done, total=total))
