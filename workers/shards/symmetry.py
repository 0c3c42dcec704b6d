"""Runs under a symmetry of their puzzle, undone in their answers before anything is verified."""

from __future__ import annotations

from random import Random

from cagematch.problems.kinds import KINDS, Symmetric
from cagematch.problems.problem import Restore
from cagematch.workers.messages.framing import Message
from cagematch.workers.shards.leases import Planned


def permuted(run: Planned, seed: int) -> tuple[str, Restore]:
    """The text that a run is given, and how its solutions turn back; of a kind without symmetries, the puzzle's own.

    It follows from the seed of the repeat and the puzzle alone, so that each configuration is given the same.
    """
    kind = KINDS[run.kind]
    if isinstance(kind, Symmetric):
        return kind.permuted(run.text, Random(f"{seed} {run.text}"))
    return run.text, list


def restored(answer: Message, restore: Restore) -> Message:
    """An answer whose solutions are the puzzle's own."""
    found = answer.get("assignment")
    if found is None:
        return answer
    return answer | {"assignment": restore(found), "more": list(map(restore, answer.get("more", ())))}
