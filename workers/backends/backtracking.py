"""Chronological backtracking in plain Python, as in an introductory lecture on constraint processing.

Variables are assigned in a fixed order, with each value of the domain in turn. AllDifferent is decomposed into binary
constraints. After each assignment, every constraint whose variables all have values is checked. There is no
propagation and no heuristic: this backend is the baseline for all others.
"""

from __future__ import annotations

import platform
import time
from collections import Counter
from functools import lru_cache

from cagematch.problems.constraints import AllDifferent, Constraint, Less, NotEqual, Sum
from cagematch.problems.outcome import Task
from cagematch.problems.problem import Problem, Rules
from cagematch.problems.rewrite import pairwise
from cagematch.workers.backends.contract import (
    OUT_OF_TIME,
    REFUTED,
    SOLVED,
    Found,
    Order,
    Parameter,
    Settings,
    Size,
    Take,
    first,
)

HANDLES = (AllDifferent, Sum, NotEqual, Less)
TASKS = (Task.SOLVE, Task.UNIQUE, Task.COUNT)
STATUS = {"solution": SOLVED, "exhausted": REFUTED, "limit": OUT_OF_TIME}
PARAMETERS: dict[str, Parameter] = {}


def version() -> str:
    return f"Python {platform.python_version()}"


def size(rules: Rules, settings: Settings) -> Size:  # noqa: ARG001 - nothing to set
    posted = Counter(f"{type(c).__name__} {c.role}" for c in pairwise(rules))
    return Size({"integer": len(rules.domains)}, posted)


Model = tuple[list[tuple[int, ...]], tuple[tuple[Constraint, ...], ...]]


def build(problem: Problem, order: Order) -> Model:  # noqa: ARG001 - nothing to set
    domains = list(problem.rules.domains)
    for variable, value in problem.givens:
        domains[variable] = (value,)
    return domains, _checks(problem.rules)


def search(model: Model, limit_s: float) -> Found:
    return first(enumerate_all, model, limit_s)


def enumerate_all(model: Model, limit_s: float, take: Take) -> Found:
    domains, checks = model
    deadline = time.monotonic() + limit_s
    assignment: list[int] = [0] * len(domains)
    untried = [iter(domains[0])]
    tried = 0
    while untried:
        variable = len(untried) - 1
        value = next(untried[-1], None)
        if value is None:
            untried.pop()
            continue
        tried += 1
        assignment[variable] = value
        if not all(constraint.holds(assignment) for constraint in checks[variable]):
            continue
        if variable + 1 == len(domains):
            if not take(assignment):
                return Found("solution", None, {"assignments": tried})
            continue
        if time.monotonic() > deadline:
            return Found("limit", None, {"assignments": tried})
        untried.append(iter(domains[variable + 1]))
    return Found("exhausted", None, {"assignments": tried}, complete=True)


@lru_cache(maxsize=64)
def _checks(rules: Rules) -> tuple[tuple[Constraint, ...], ...]:
    """For each variable, the constraints over it and earlier variables, which all have values by then."""
    constraints = pairwise(rules)
    return tuple(tuple(c for c in constraints if max(c.scope) <= v) for v in range(len(rules.domains)))
