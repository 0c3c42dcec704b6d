"""Runs under a symmetry of their puzzle. The symmetry is undone in the answer before it is verified."""

from __future__ import annotations

from random import Random

from msgspec.structs import replace

from cagematch.problems.kinds import KINDS, Symmetric
from cagematch.problems.problem import Restore
from cagematch.workers.messages.protocol import RunAnswer
from cagematch.workers.shards.plan import PlannedRun


def permuted(run: PlannedRun, seed: int) -> tuple[str, Restore]:
    """The text to solve, and the function that turns its solutions into solutions of the puzzle.

    Both depend only on the repeat's seed and the puzzle, so each configuration gets the same text. A kind without
    symmetries keeps the puzzle's own text.
    """
    kind = KINDS[run.kind]
    if isinstance(kind, Symmetric):
        return kind.permuted(run.text, Random(f"{seed} {run.text}"))
    return run.text, list


def restored(answer: RunAnswer, restore: Restore) -> RunAnswer:
    """The answer with solutions of the original puzzle."""
    if answer.assignment is None:
        return answer
    return replace(answer, assignment=restore(answer.assignment), more=list(map(restore, answer.more)))
