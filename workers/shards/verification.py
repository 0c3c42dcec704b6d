"""Verification of answers, outside the timed part, by code that shares nothing with the solvers."""

from __future__ import annotations

import msgspec

from cagematch.problems.kinds import KINDS
from cagematch.problems.outcome import Task
from cagematch.problems.problem import Problem
from cagematch.workers.messages.protocol import RunAnswer
from cagematch.workers.sandbox.solving import problem_of


class Verified(msgspec.Struct, frozen=True):
    """What verification found in an answer; the columns of these names in `models.Run`.

    Attributes
    ----------
    holds
        Whether every solution obeys every constraint and no two are the same; None without a solution.
    solution, second
        The first solution, and the first further one, in the kind's compact form.
    verified
        The number of different solutions of the puzzle that obey every constraint.
    count, complete
        As the solver reported them; only for tasks other than `Task.SOLVE`.
    changes
        The number of clues that a repair changed.
    """

    holds: bool | None = None
    solution: str | None = None
    verified: int | None = None
    second: str | None = None
    count: int | None = None
    complete: bool | None = None
    changes: int | None = None


NOTHING = Verified()


def verify(task: Task, kind: str, text: str, answer: RunAnswer) -> Verified:
    """Check the solutions in an answer against the rules of the puzzle."""
    found = answer.assignment
    if task is Task.SOLVE:
        return _solution(kind, text, found) if found is not None else NOTHING
    if found is None:
        verified = NOTHING
    elif task is Task.REPAIR:
        verified = _repair(kind, text, found)
    else:
        verified = _enumeration(kind, text, [found, *answer.more])
    return msgspec.structs.replace(verified, count=answer.count, complete=answer.complete)


def _solution(kind: str, text: str, found: list[int]) -> Verified:
    holds = problem_of(kind, text).is_solution(found)
    return Verified(holds, KINDS[kind].digits(text, found), int(holds))


def _enumeration(kind: str, text: str, found: list[list[int]]) -> Verified:
    """Every solution must obey every constraint, and no two may be the same."""
    problem, write = problem_of(kind, text), KINDS[kind].digits
    right = {tuple(one) for one in found if problem.is_solution(one)}
    second = next((write(text, one) for one in found[1:]), None)
    return Verified(len(right) == len(found), write(text, found[0]), len(right), second)


def _repair(kind: str, text: str, found: list[int]) -> Verified:
    """A repair must obey the rules; clues may change, and the changes are counted."""
    problem = problem_of(kind, text)
    changes = sum(found[variable] != value for variable, value in problem.givens)
    return Verified(
        holds=Problem(problem.rules).is_solution(found),
        solution=KINDS[kind].digits(text, found),
        verified=int(problem.is_solution(found)),
        changes=changes,
    )
