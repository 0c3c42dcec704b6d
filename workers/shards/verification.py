"""Answers checked outside the timed part, by code that shares nothing with the solvers."""

from __future__ import annotations

from typing import Any

from cagematch.problems.kinds import KINDS
from cagematch.problems.outcome import Task
from cagematch.problems.problem import Problem
from cagematch.workers.messages.framing import Message
from cagematch.workers.sandbox.solving import problem_of

Columns = dict[str, Any]
NOTHING: Columns = {"holds": None, "solution": None, "verified": None}


def checked(task: Task, kind: str, text: str, answer: Message) -> Columns:
    """What the solutions in an answer come to: columns of `models.Run`."""
    found = answer.get("assignment")
    if task is Task.SOLVE:
        return _solution(kind, text, found) if found is not None else NOTHING
    told = {"second": None, "count": answer.get("count"), "complete": answer.get("complete"), "changes": None}
    if found is None:
        return NOTHING | told
    if task is Task.REPAIR:
        return told | _repair(kind, text, found)
    return told | _enumeration(kind, text, [found, *answer["more"]])


def _solution(kind: str, text: str, found: list[int]) -> Columns:
    holds = problem_of(kind, text).is_solution(found)
    return {"holds": holds, "solution": KINDS[kind].digits(text, found), "verified": int(holds)}


def _enumeration(kind: str, text: str, found: list[list[int]]) -> Columns:
    """Each must obey every constraint, and no two may be the same."""
    problem, write = problem_of(kind, text), KINDS[kind].digits
    right = {tuple(one) for one in found if problem.is_solution(one)}
    second = next((write(text, one) for one in found[1:]), None)
    return {
        "holds": len(right) == len(found),
        "solution": write(text, found[0]),
        "second": second,
        "verified": len(right),
    }


def _repair(kind: str, text: str, found: list[int]) -> Columns:
    """It must obey the rules; what was given may change, and how much of it did is counted."""
    problem = problem_of(kind, text)
    changes = sum(found[variable] != value for variable, value in problem.givens)
    return {
        "holds": Problem(problem.rules).is_solution(found),
        "solution": KINDS[kind].digits(text, found),
        "changes": changes,
        "verified": int(problem.is_solution(found)),
    }
