"""The original constraint solver of OR-Tools (pywrapcp): depth-first search under a chosen strategy.

Documentation: the OR-Tools reference, "Original CP Solver"; the strategies are those of
``IntVarStrategy`` and ``IntValueStrategy`` in ``constraint_solver.h``.
"""

from __future__ import annotations

import time
from collections import Counter
from functools import singledispatch
from typing import Any, NamedTuple

from problems.constraints import AllDifferent, Constraint, Less, NotEqual, Sum
from problems.outcome import Task
from problems.problem import Problem, Rules
from workers.backends.contract import (
    OUT_OF_TIME,
    REFUTED,
    SEED_MOST,
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
# NextSolution says False both when the tree is exhausted and when a limit was crossed, and Python is not
# given the limit's own word. Measured time tells them apart; in doubt it was the limit, never a proof.
DOUBT_MS = 5
STATUS = {"solution": SOLVED, "exhausted": REFUTED, "limit crossed": OUT_OF_TIME}
VARIABLE_STRATEGIES = (
    "CHOOSE_FIRST_UNBOUND",
    "CHOOSE_RANDOM",
    "CHOOSE_MIN_SIZE",
    "CHOOSE_MIN_SIZE_LOWEST_MIN",
    "CHOOSE_MIN_SIZE_HIGHEST_MIN",
    "CHOOSE_MIN_SIZE_LOWEST_MAX",
    "CHOOSE_MIN_SIZE_HIGHEST_MAX",
    "CHOOSE_LOWEST_MIN",
    "CHOOSE_HIGHEST_MAX",
    "CHOOSE_MAX_SIZE",
    "CHOOSE_MAX_REGRET_ON_MIN",
    "INT_VAR_SIMPLE",
    "INT_VAR_DEFAULT",
    "CHOOSE_PATH",
)
VALUE_STRATEGIES = (
    "ASSIGN_MIN_VALUE",
    "ASSIGN_MAX_VALUE",
    "ASSIGN_RANDOM_VALUE",
    "ASSIGN_CENTER_VALUE",
    "SPLIT_LOWER_HALF",
    "SPLIT_UPPER_HALF",
    "INT_VALUE_SIMPLE",
    "INT_VALUE_DEFAULT",
)
Model = tuple[Any, list[Any], Any]
PARAMETERS = {
    "var": Parameter("CHOOSE_FIRST_UNBOUND", VARIABLE_STRATEGIES, help="which variable to branch on"),
    "val": Parameter("ASSIGN_MIN_VALUE", VALUE_STRATEGIES, help="which value to try first"),
    "alldifferent": Parameter(
        "bounds", ("bounds", "values"), help="what AllDifferent looks at: intervals, or settled values"
    ),
    "seed": Parameter(-1, least=-1, help="random seed of the random strategies; -1 takes the batch's"),
}


def version() -> str:
    import ortools

    return str(ortools.__version__)


def size(rules: Rules, settings: Settings) -> Size:  # noqa: ARG001 - the strategy does not change the model
    posted = Counter(f"{type(c).__name__} {c.role}" for c in rules.constraints)
    return Size({"integer": len(rules.domains)}, posted)


def build(problem: Problem, order: Order) -> Model:
    from ortools.constraint_solver import pywrapcp

    solver = pywrapcp.Solver("")
    solver.ReSeed(order.seed & SEED_MOST)
    variables = [solver.IntVar(values) for values in problem.values]
    store = Store(solver, variables, order.settings["alldifferent"] == "bounds")
    for constraint in problem.constraints:
        post(constraint, store)
    strategies = (getattr(pywrapcp.Solver, str(order.settings[which])) for which in ("var", "val"))
    return solver, variables, solver.Phase(variables, *strategies)


def search(model: Model, limit_s: float) -> Found:
    return first(enumerate_all, model, limit_s)


def enumerate_all(model: Model, limit_s: float, take: Take) -> Found:
    solver, variables, phase = model
    limit_ms = max(1, int(limit_s * 1000))
    started = time.monotonic()
    solver.NewSearch(phase, [solver.TimeLimit(limit_ms)])
    more = found = True
    while more and (found := solver.NextSolution()):
        more = take([variable.Value() for variable in variables])
    crossed = (time.monotonic() - started) * 1000 > limit_ms - DOUBT_MS
    solver.EndSearch()
    native = "solution" if found else "limit crossed" if crossed else "exhausted"
    counters = {"branches": solver.Branches(), "failures": solver.Failures()}
    return Found(native, None, counters, complete=native == "exhausted")


class Store(NamedTuple):
    """What constraints are posted to. ``bounds``: AllDifferent reasons about intervals, not settled values only."""

    solver: Any
    variables: list[Any]
    bounds: bool


@singledispatch
def post(constraint: Constraint, store: Store) -> None:
    """Ensures that the constraint holds."""
    raise NotImplementedError(type(constraint).__name__)


@post.register
def _(constraint: AllDifferent, store: Store) -> None:
    store.solver.Add(store.solver.AllDifferent([store.variables[v] for v in constraint.scope], store.bounds))


@post.register
def _(constraint: Sum, store: Store) -> None:
    store.solver.Add(store.solver.SumEquality([store.variables[v] for v in constraint.scope], constraint.total))


@post.register
def _(constraint: NotEqual, store: Store) -> None:
    a, b = constraint.scope
    store.solver.Add(store.variables[a] != store.variables[b])


@post.register
def _(constraint: Less, store: Store) -> None:
    a, b = constraint.scope
    store.solver.Add(store.variables[a] < store.variables[b])
