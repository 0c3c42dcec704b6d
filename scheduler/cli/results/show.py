"""The command ``show``."""

from __future__ import annotations

import sys
from typing import TYPE_CHECKING

from cagematch.scheduler.cli import options
from cagematch.scheduler.cli.connection import connect
from cagematch.scheduler.cli.output import output

if TYPE_CHECKING:
    from cagematch.problems.problem import Puzzle

EXAMPLES = ("scheduler show hard:1", "scheduler show hard:1 --model cp-sat --model scip")


def show(what: options.PuzzleOrRun, model: options.Models = None) -> None:
    """Draw a puzzle with its results, or a run with its answer.

    With --model, prints how many variables and constraints a configuration uses for the puzzle.
    """
    from cagematch.models.engine import reading
    from cagematch.scheduler.cli.consoles import drawable
    from cagematch.scheduler.inspection.descriptions import describe, puzzle_of

    _, engine = connect(reads_only=True)
    with reading(engine) as connection:
        if not model:
            output().print(drawable(describe(connection, what), sys.stdout))
            return
        puzzle, stored = puzzle_of(connection, what)
    _show_models(puzzle, model, stored=stored)


def _show_models(puzzle: Puzzle, words: list[str], *, stored: bool) -> None:
    from cagematch.problems.kinds import KINDS
    from cagematch.scheduler.cli.consoles import drawable
    from cagematch.scheduler.inspection.model_sizes import model_of
    from cagematch.scheduler.reports import table
    from cagematch.workers.configurations import configurations

    found = [model_of(puzzle, configuration) for configuration in configurations(words)]
    output().print(f"{puzzle.kind} {puzzle.fingerprint.hex()[:12]}" + ("" if stored else "  not stored"))
    output().print(drawable(KINDS[puzzle.kind].render(puzzle.text), sys.stdout) + "\n")
    for one in found:
        if isinstance(one, table.Table):
            table.show([one], output())
        else:
            output().print(f"{one}\n", style="yellow")
