"""Pumpkin, a lazy-clause-generation solver of TU Delft that can log proofs.

Documentation: github.com/ConSol-Lab/pumpkin, and the package pumpkin-solver, its Python interface.
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
STATUS = {"Satisfiable": SOLVED, "Unsatisfiable": REFUTED, "Unknown": OUT_OF_TIME}
PARAMETERS: dict[str, Parameter] = {}
Model = tuple[Any, list[Any]]


def version() -> str:
    from importlib.metadata import version as of

    import pumpkin_solver

    return of(pumpkin_solver.__name__)


def size(rules: Rules, settings: Settings) -> Size:  # noqa: ARG001 - nothing to set
    posted = Counter(f"{type(c).__name__} {c.role}" for c in rules.constraints)
    return Size({"integer": len(rules.domains)}, posted)


def build(problem: Problem, order: Order) -> Model:  # noqa: ARG001 - nothing to set
    from pumpkin_solver import Model as Pumpkin

    model = Pumpkin()
    variables = [_variable(model, values) for values in problem.values]
    for constraint in problem.constraints:
        post(constraint, model, variables)
    return model, variables


def search(model: Model, limit_s: float) -> Found:
    told = model[0].satisfy(timeout=limit_s)
    native = type(told).__name__
    if native != "Satisfiable":
        return Found(native)
    solution = told._0  # noqa: SLF001 - how a Rust variant shows what it holds
    return Found(native, [solution.int_value(variable) for variable in model[1]])


def _variable(model: Any, values: tuple[int, ...]) -> Any:
    """Make an integer between the ends of its domain; a table of one column keeps it to the values between."""
    variable = model.new_integer_variable(values[0], values[-1])
    if values[-1] - values[0] >= len(values):
        from pumpkin_solver.constraints import Table

        model.add_constraint(Table([variable], [[value] for value in values], model.new_constraint_tag()))
    return variable


@singledispatch
def post(constraint: Constraint, model: Any, variables: list[Any]) -> None:
    """Ensures that the constraint holds."""
    raise NotImplementedError(type(constraint).__name__)


@post.register
def _(constraint: AllDifferent, model: Any, variables: list[Any]) -> None:
    from pumpkin_solver.constraints import AllDifferent as Different

    model.add_constraint(Different([variables[v] for v in constraint.scope], model.new_constraint_tag()))


@post.register
def _(constraint: Sum, model: Any, variables: list[Any]) -> None:
    from pumpkin_solver.constraints import Equals

    model.add_constraint(Equals([variables[v] for v in constraint.scope], constraint.total, model.new_constraint_tag()))


@post.register
def _(constraint: NotEqual, model: Any, variables: list[Any]) -> None:
    from pumpkin_solver.constraints import BinaryNotEquals

    a, b = constraint.scope
    model.add_constraint(BinaryNotEquals(variables[a], variables[b], model.new_constraint_tag()))


@post.register
def _(constraint: Less, model: Any, variables: list[Any]) -> None:
    from pumpkin_solver.constraints import BinaryLessThan

    a, b = constraint.scope
    model.add_constraint(BinaryLessThan(variables[a], variables[b], model.new_constraint_tag()))
