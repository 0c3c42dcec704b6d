"""The original constraint solver of OR-Tools (pywrapcp): depth-first search with selectable strategies.

Documentation: the OR-Tools reference, "Original CP Solver". The strategies are those of ``IntVarStrategy`` and
``IntValueStrategy`` in ``constraint_solver.h``.
"""

from __future__ import annotations

import time
from collections import Counter
from functools import singledispatch
from typing import Any, NamedTuple

from cagematch.problems.constraints import AllDifferent, AllowedSets, Constraint, Less, NotEqual, Sum
from cagematch.problems.outcome import Task
from cagematch.problems.problem import Problem, Rules
from cagematch.problems.sets import posted
from cagematch.workers.backends.contract import (
    CAGES,
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
    last,
)

HANDLES = (AllDifferent, Sum, NotEqual, Less, AllowedSets)
TASKS = tuple(Task)
# NextSolution returns False both when the search tree is exhausted and when a limit is reached, and the limit's state
# is not available in Python. The measured time distinguishes the two; close to the limit it counts as the limit.
TOLERANCE_MS = 5
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
PARAMETERS = {
    "var": Parameter("CHOOSE_FIRST_UNBOUND", VARIABLE_STRATEGIES, help="which variable to branch on"),
    "val": Parameter("ASSIGN_MIN_VALUE", VALUE_STRATEGIES, help="which value to try first"),
    "alldifferent": Parameter(
        "bounds", ("bounds", "values"), help="propagation of AllDifferent: by bounds, or by assigned values"
    ),
    "cages": CAGES,
    "seed": Parameter(-1, least=-1, help="random seed of the random strategies; -1 uses the seed of the batch"),
}


def version() -> str:
    import ortools

    return str(ortools.__version__)


def size(rules: Rules, settings: Settings) -> Size:
    rules = posted(rules, settings["cages"])
    stated = Counter(f"{type(c).__name__} {c.role}" for c in rules.constraints if not isinstance(c, AllowedSets))
    choices = [c for c in rules.constraints if isinstance(c, AllowedSets)]
    for choice in choices:
        stated[f"AllDifferent {choice.role}"] += 1
        stated[f"AllowedAssignments {choice.role}"] += len(choice.scope)
    return Size({"integer": len(rules.domains)} | ({"choice": len(choices)} if choices else {}), stated)


def build(problem: Problem, order: Order) -> Model:
    from ortools.constraint_solver import pywrapcp

    solver = pywrapcp.Solver("")
    solver.ReSeed(order.seed & SEED_MOST)
    rules = posted(problem.rules, order.settings["cages"])
    repairing = order.task is Task.REPAIR
    variables = [solver.IntVar(values) for values in (rules.domains if repairing else problem.values)]
    store = Store(solver, variables, order.settings["alldifferent"] == "bounds", [])
    for constraint in rules.constraints:
        post(constraint, store)
    strategies = (getattr(pywrapcp.Solver, str(order.settings[which])) for which in ("var", "val"))
    phase = solver.Phase(variables, *strategies)
    return _repair_model(store, phase, problem) if repairing else Model(store, phase)


def search(model: Model, limit_s: float) -> Found:
    if model.objective:
        return last(enumerate_all, model, limit_s, "solution")
    return first(enumerate_all, model, limit_s)


def enumerate_all(model: Model, limit_s: float, take: Take) -> Found:
    solver, variables = model.store.solver, model.store.variables
    limit_ms = max(1, int(limit_s * 1000))
    started = time.monotonic()
    solver.NewSearch(model.phase, [*model.objective, solver.TimeLimit(limit_ms)])
    more = found = True
    while more and (found := solver.NextSolution()):
        more = take([variable.Value() for variable in variables])
    crossed = (time.monotonic() - started) * 1000 > limit_ms - TOLERANCE_MS
    solver.EndSearch()
    native = "solution" if found else "limit crossed" if crossed else "exhausted"
    counters = {"branches": solver.Branches(), "failures": solver.Failures()}
    return Found(native, None, counters, complete=native == "exhausted")


def _repair_model(store: Store, phase: Any, problem: Problem) -> Model:
    """Return a model that maximizes the kept givens: it branches on keeping them first, then by the strategies."""
    solver = store.solver
    kept = [solver.IsEqualCstVar(store.variables[variable], value) for variable, value in problem.givens]
    keep = solver.Phase(kept, solver.CHOOSE_FIRST_UNBOUND, solver.ASSIGN_MAX_VALUE)
    return Model(store, solver.Compose([keep, phase]), (solver.Maximize(solver.Sum(kept), 1),))


class Store(NamedTuple):
    """What constraints are posted to.

    Parameters
    ----------
    solver, variables
        The solver, and its variables in the order of the rules.
    bounds
        Whether AllDifferent propagates bounds, and not only assigned values.
    choices
        The variables that select the set of an ``AllowedSets``. The other variables determine them.
    """

    solver: Any
    variables: list[Any]
    bounds: bool
    choices: list[Any]


class Model(NamedTuple):
    """A store, the search strategy, and for a repair the objective."""

    store: Store
    phase: Any
    objective: tuple[Any, ...] = ()


@singledispatch
def post(constraint: Constraint, store: Store) -> None:
    """Post a constraint; raise NotImplementedError for an unsupported type."""
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


@post.register
def _(constraint: AllowedSets, store: Store) -> None:
    """All variables differ; for each variable, a table lists the pairs of a value and a set that contains it."""
    solver, scope = store.solver, [store.variables[v] for v in constraint.scope]
    choice = solver.IntVar(0, len(constraint.sets) - 1)
    store.choices.append(choice)
    solver.Add(solver.AllDifferent(scope, store.bounds))
    pairs = [(value, at) for at, its in enumerate(constraint.sets) for value in its]
    for variable in scope:
        solver.Add(solver.AllowedAssignments((variable, choice), pairs))
