"""Choco, a constraint solver of IMT Atlantique, compiled to a native library: its default search.

Documentation: choco-solver.org, and pychoco.readthedocs.io, its Python interface.
"""

from __future__ import annotations

from collections import Counter
from functools import singledispatch
from typing import Any

from problems.constraints import AllDifferent, Constraint, Less, NotEqual, Sum
from problems.outcome import Task
from problems.problem import Problem, Rules
from workers.backends.contract import OUT_OF_TIME, REFUTED, SOLVED, Found, Order, Parameter, Settings, Size

HANDLES = (AllDifferent, Sum, NotEqual, Less)
TASKS = (Task.SOLVE,)
STATUS = {"SOLUTION": SOLVED, "TERMINATED": REFUTED, "STOPPED": OUT_OF_TIME, "KILLED": OUT_OF_TIME}
PARAMETERS = {
    "alldifferent": Parameter("AC", ("AC", "BC", "FC", "NEQS"), help="the consistency that AllDifferent keeps"),
}
Model = tuple[Any, list[Any]]


def version() -> str:
    from importlib.metadata import version as of

    import pychoco

    return f"pychoco {of(pychoco.__name__)}"


def size(rules: Rules, settings: Settings) -> Size:  # noqa: ARG001 - no setting changes the model
    posted = Counter(f"{type(c).__name__} {c.role}" for c in rules.constraints)
    return Size({"integer": len(rules.domains)}, posted)


def build(problem: Problem, order: Order) -> Model:
    from pychoco.model import Model as Choco

    model = Choco()
    variables = [_variable(model, values) for values in problem.values]
    for constraint in problem.constraints:
        post(constraint, model, variables, str(order.settings["alldifferent"]))
    return model, variables


def search(model: Model, limit_s: float) -> Found:
    solver = model[0].get_solver()
    found = solver.solve(time_limit=f"{max(0.001, limit_s):.3f}s")
    native = "SOLUTION" if found else str(solver.get_search_state())
    counters = {"fails": solver.get_fail_count(), "backtracks": solver.get_backtrack_count()}
    return Found(native, [variable.get_value() for variable in model[1]] if found else None, counters)


def _variable(model: Any, values: tuple[int, ...]) -> Any:
    """Make an integer: between the ends of its domain where that has no gaps, which the interface takes faster."""
    low, high = values[0], values[-1]
    return model.intvar(low, high) if high - low < len(values) else model.intvar(list(values))


@singledispatch
def post(constraint: Constraint, model: Any, variables: list[Any], consistency: str) -> None:
    """Ensures that the constraint holds."""
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
