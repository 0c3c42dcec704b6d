"""Constraint propagation with the smallest domain first, in plain Python, for teaching.

Each variable has the values that are still possible. A constraint removes the values that it does not allow, which
wakes the constraints over the changed variables. At the fixpoint, the search branches on the variable with the fewest
values. Each constraint type has its own function below for what it can remove before all of its variables but one are
assigned.

Source: Norvig, "Solving Every Sudoku Puzzle".
"""

from __future__ import annotations

import platform
import time
from collections import Counter
from collections.abc import Iterable, Iterator
from functools import lru_cache, singledispatch

from cagematch.problems.constraints import AllDifferent, AllowedSets, Constraint, Less, NotEqual, Sum
from cagematch.problems.outcome import Task
from cagematch.problems.problem import Problem, Rules
from cagematch.problems.sets import posted
from cagematch.workers.backends.contract import (
    CAGES,
    OUT_OF_TIME,
    REFUTED,
    SOLVED,
    Found,
    Order,
    Settings,
    Size,
    Take,
    first,
)

HANDLES = (AllDifferent, Sum, NotEqual, Less, AllowedSets)
TASKS = (Task.SOLVE, Task.UNIQUE, Task.COUNT)
STATUS = {"solution": SOLVED, "exhausted": REFUTED, "limit": OUT_OF_TIME}
PARAMETERS = {"cages": CAGES}
Values = frozenset[int]
Wakes = tuple[tuple[Constraint, ...], ...]  # for each variable, the constraints over it
NOTHING: Values = frozenset()
Model = tuple[list[Values], tuple[Constraint, ...], Wakes]


def version() -> str:
    return f"Python {platform.python_version()}"


def size(rules: Rules, settings: Settings) -> Size:
    stated = Counter(f"{type(c).__name__} {c.role}" for c in posted(rules, settings["cages"]).constraints)
    return Size({"integer": len(rules.domains)}, stated)


def build(problem: Problem, order: Order) -> Model:
    rules = posted(problem.rules, order.settings["cages"])
    left = list(_domains(rules))
    for variable, value in problem.givens:
        left[variable] = frozenset((value,))
    return left, rules.constraints, _wakes(rules)


def search(model: Model, limit_s: float) -> Found:
    return first(enumerate_all, model, limit_s)


def enumerate_all(model: Model, limit_s: float, take: Take) -> Found:
    left, constraints, wakes = model
    deadline = time.monotonic() + limit_s
    untried: list[tuple[list[Values], Iterable[Constraint]]] = [(left, constraints)]
    branches = 0
    while untried:
        if time.monotonic() > deadline:
            return Found("limit", None, {"branches": branches})
        left, woken = untried.pop()
        if not propagate(left, woken, wakes):
            continue
        open_ = [v for v, values in enumerate(left) if len(values) > 1]
        if not open_:
            if not take([value for (value,) in left]):
                return Found("solution", None, {"branches": branches})
            continue
        chosen = min(open_, key=lambda v: len(left[v]))
        before, after = left[:chosen], left[chosen + 1 :]
        values = sorted(left[chosen], reverse=True)
        untried.extend(([*before, frozenset((value,)), *after], wakes[chosen]) for value in values)
        branches += len(left[chosen])
    return Found("exhausted", None, {"branches": branches}, complete=True)


def propagate(left: list[Values], woken: Iterable[Constraint], wakes: Wakes) -> bool:
    """Remove values until the fixpoint; return False if a variable has none left."""
    agenda = dict.fromkeys(woken)
    while agenda:
        constraint, _ = agenda.popitem()
        for variable, values in allowed(constraint, left):
            if values >= left[variable]:
                continue
            left[variable] &= values
            if not left[variable]:
                return False
            agenda |= dict.fromkeys(wakes[variable])
    return True


@singledispatch
def allowed(constraint: Constraint, left: list[Values]) -> Iterator[tuple[int, Values]]:
    """Yield variables with the values that the constraint allows. By default, only once all but one are assigned."""
    open_ = [v for v in constraint.scope if len(left[v]) > 1]
    if len(open_) <= 1:
        last = (open_ or constraint.scope)[0]
        yield last, frozenset(value for value in left[last] if constraint.holds(_with(last, value, constraint, left)))


def _with(last: int, value: int, constraint: Constraint, left: list[Values]) -> list[int]:
    """Return an assignment in which ``last`` has the value, and each other variable its only remaining value."""
    assignment = [0] * len(left)
    for v in constraint.scope:
        (assignment[v],) = left[v] if v != last else (value,)
    return assignment


@allowed.register
def _(constraint: AllDifferent, left: list[Values]) -> Iterator[tuple[int, Values]]:
    """Other variables cannot have an assigned value. With as many values as variables, each value is needed."""
    scope = constraint.scope
    yield from _unlike_assigned(scope, left)
    everything = NOTHING.union(*(left[v] for v in scope))
    if len(everything) < len(scope):
        yield scope[0], NOTHING
    elif len(everything) == len(scope):
        for value in everything:
            places = [v for v in scope if value in left[v]]
            if len(places) == 1:
                yield places[0], frozenset((value,))


@allowed.register
def _(constraint: Sum, left: list[Values]) -> Iterator[tuple[int, Values]]:
    """The minimum and maximum sum of the other variables bound the values of each variable."""
    least = sum(min(left[v]) for v in constraint.scope)
    most = sum(max(left[v]) for v in constraint.scope)
    for v in constraint.scope:
        low, high = constraint.total - most + max(left[v]), constraint.total - least + min(left[v])
        yield v, frozenset(value for value in left[v] if low <= value <= high)


@allowed.register
def _(constraint: AllowedSets, left: list[Values]) -> Iterator[tuple[int, Values]]:
    """Allow the values of those sets that contain all assigned values and only possible values."""
    scope = constraint.scope
    yield from _unlike_assigned(scope, left)
    assigned = NOTHING.union(*(left[v] for v in scope if len(left[v]) == 1))
    everything = NOTHING.union(*(left[v] for v in scope))
    possible = (its for its in constraint.sets if assigned.issubset(its) and everything.issuperset(its))
    values = NOTHING.union(*possible)
    yield from ((v, left[v] & values) for v in scope)


def _unlike_assigned(scope: tuple[int, ...], left: list[Values]) -> Iterator[tuple[int, Values]]:
    for assigned in scope:
        if len(left[assigned]) == 1:
            yield from ((v, left[v] - left[assigned]) for v in scope if v != assigned)


@allowed.register
def _(constraint: Less, left: list[Values]) -> Iterator[tuple[int, Values]]:
    """The first is less than the maximum of the second; the second is greater than the minimum of the first."""
    a, b = constraint.scope
    yield a, frozenset(value for value in left[a] if value < max(left[b]))
    yield b, frozenset(value for value in left[b] if value > min(left[a]))


@lru_cache(maxsize=64)
def _domains(rules: Rules) -> tuple[Values, ...]:
    return tuple(map(frozenset, rules.domains))


@lru_cache(maxsize=64)
def _wakes(rules: Rules) -> Wakes:
    return tuple(tuple(c for c in rules.constraints if v in c.scope) for v in range(len(rules.domains)))
