"""Choco, a constraint solver of IMT Atlantique, compiled to a native library: its default search.

Documentation: choco-solver.org, and pychoco.readthedocs.io for the Python interface.
"""

from __future__ import annotations

from collections import Counter
from functools import singledispatch
from typing import Any

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
    Parameter,
    Settings,
    Size,
    Take,
    first,
    last,
)

HANDLES = (AllDifferent, Sum, NotEqual, Less, AllowedSets)
TASKS = tuple(Task)
STATUS = {"SOLUTION": SOLVED, "TERMINATED": REFUTED, "STOPPED": OUT_OF_TIME, "KILLED": OUT_OF_TIME}
PARAMETERS = {
    "cages": CAGES,
    "alldifferent": Parameter("AC", ("AC", "BC", "FC", "NEQS"), help="the consistency level of AllDifferent"),
}
Model = tuple[Any, list[Any], bool]  # the model, its variables, and whether the task is a repair


def version() -> str:
    from importlib.metadata import version as of

    import pychoco

    return f"pychoco {of(pychoco.__name__)}"


def size(rules: Rules, settings: Settings) -> Size:
    rules = posted(rules, settings["cages"])
    stated = Counter(f"{type(c).__name__} {c.role}" for c in rules.constraints if not isinstance(c, AllowedSets))
    choices = [c for c in rules.constraints if isinstance(c, AllowedSets)]
    for choice in choices:
        stated[f"AllDifferent {choice.role}"] += 1
        stated[f"table {choice.role}"] += len(choice.scope)
    return Size({"integer": len(rules.domains)} | ({"choice": len(choices)} if choices else {}), stated)


def build(problem: Problem, order: Order) -> Model:
    from pychoco.model import Model as Choco

    model = Choco()
    repairing = order.task is Task.REPAIR
    rules = posted(problem.rules, order.settings["cages"])
    variables = [_variable(model, values) for values in (rules.domains if repairing else problem.values)]
    for constraint in rules.constraints:
        post(constraint, model, variables, str(order.settings["alldifferent"]))
    if repairing:
        _minimize_changes(model, variables, problem)
    return model, variables, repairing


def search(model: Model, limit_s: float) -> Found:
    if model[2]:
        return last(enumerate_all, model, limit_s, "SOLUTION")
    return first(enumerate_all, model, limit_s)


def enumerate_all(model: Model, limit_s: float, take: Take) -> Found:
    """Resume the search after each solution until there are no more."""
    solver = model[0].get_solver()
    solver.limit_time(f"{max(0.001, limit_s):.3f}s")
    more = found = True
    while more and (found := solver.solve()):
        more = take([variable.get_value() for variable in model[1]])
    native = "SOLUTION" if found else str(solver.get_search_state())
    counters = {"fails": solver.get_fail_count(), "backtracks": solver.get_backtrack_count()}
    return Found(native, None, counters, complete=native == "TERMINATED")


def _minimize_changes(model: Any, variables: list[Any], problem: Problem) -> None:
    """Set the objective: the number of changed givens."""
    changed = [model.arithm(variables[variable], "!=", value).reify() for variable, value in problem.givens]
    changes = model.intvar(0, len(changed))
    if changed:  # the interface rejects an empty sum
        model.sum(changed, "=", changes).post()
    model.set_objective(changes, maximize=False)


def _variable(model: Any, values: tuple[int, ...]) -> Any:
    """Create an integer variable; for a domain without gaps by its bounds, which is faster."""
    low, high = values[0], values[-1]
    return model.intvar(low, high) if high - low < len(values) else model.intvar(list(values))


@singledispatch
def post(constraint: Constraint, model: Any, variables: list[Any], consistency: str) -> None:
    """Post a constraint; raise NotImplementedError for an unsupported type."""
    raise NotImplementedError(type(constraint).__name__)


@post.register
def _(constraint: AllDifferent, model: Any, variables: list[Any], consistency: str) -> None:
    model.all_different([variables[v] for v in constraint.scope], consistency).post()


@post.register
def _(constraint: Sum, model: Any, variables: list[Any], consistency: str) -> None:  # noqa: ARG001
    model.sum([variables[v] for v in constraint.scope], "=", constraint.total).post()


@post.register
def _(constraint: NotEqual, model: Any, variables: list[Any], consistency: str) -> None:  # noqa: ARG001
    a, b = constraint.scope
    model.arithm(variables[a], "!=", variables[b]).post()


@post.register
def _(constraint: Less, model: Any, variables: list[Any], consistency: str) -> None:  # noqa: ARG001
    a, b = constraint.scope
    model.arithm(variables[a], "<", variables[b]).post()


@post.register
def _(constraint: AllowedSets, model: Any, variables: list[Any], consistency: str) -> None:
    """All variables differ; for each variable, a table lists the pairs of a value and a set that contains it."""
    scope = [variables[v] for v in constraint.scope]
    model.all_different(scope, consistency).post()
    choice = model.intvar(0, len(constraint.sets) - 1)
    pairs = [[value, at] for at, its in enumerate(constraint.sets) for value in its]
    for variable in scope:
        model.table([variable, choice], pairs).post()
