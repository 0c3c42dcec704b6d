"""Pumpkin, a lazy-clause-generation solver of TU Delft that can log proofs.

Documentation: github.com/ConSol-Lab/pumpkin, and the package pumpkin-solver, its Python interface.
"""

from __future__ import annotations

import time
from collections import Counter
from functools import cache, partial, singledispatch
from typing import Any

from cagematch.problems.constraints import AllDifferent, Constraint, Less, NotEqual, Sum
from cagematch.problems.outcome import Task
from cagematch.problems.problem import Problem, Rules
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
TASKS = tuple(Task)
FOUND = ("Satisfiable", "Optimal")
STATUS = {"Satisfiable": SOLVED, "Optimal": SOLVED, "Unsatisfiable": REFUTED, "Unknown": OUT_OF_TIME}
PARAMETERS: dict[str, Parameter] = {}
Model = tuple[Any, list[Any], Any]  # the model, its variables, and of a repair the objective


def version() -> str:
    from importlib.metadata import version as of

    import pumpkin_solver

    return of(pumpkin_solver.__name__)


def size(rules: Rules, settings: Settings) -> Size:  # noqa: ARG001 - nothing to set
    posted = Counter(f"{type(c).__name__} {c.role}" for c in rules.constraints)
    return Size({"integer": len(rules.domains)}, posted)


def build(problem: Problem, order: Order) -> Model:
    from pumpkin_solver import Model as Pumpkin

    model = Pumpkin()
    repairing = order.task is Task.REPAIR
    domains = problem.rules.domains if repairing else problem.values
    variables = [_variable(model, values) for values in domains]
    for constraint in problem.constraints:
        post(constraint, model, variables)
    return model, variables, _changes(model, variables, problem) if repairing else None


def search(model: Model, limit_s: float) -> Found:
    return first(enumerate_all, model, limit_s) if model[2] is None else _mend(model, limit_s)


def enumerate_all(model: Model, limit_s: float, take: Take) -> Found:
    """Solve again and again, with a clause more that rules out the solution found."""
    from pumpkin_solver.constraints import Clause

    deadline = time.monotonic() + limit_s
    differs = cache(partial(_differs, *model[:2]))
    native = "Unknown"
    while (left_s := deadline - time.monotonic()) > 0:
        told = model[0].satisfy(timeout=left_s)
        native = type(told).__name__
        assignment = _read(model, told)
        if assignment is None or not take(assignment):
            break
        model[0].add_constraint(
            Clause([differs(*taken) for taken in enumerate(assignment)], model[0].new_constraint_tag())
        )
        native = "Unknown"
    return Found(native, complete=native == "Unsatisfiable")


def _mend(model: Model, limit_s: float) -> Found:
    """Ask for no change, for one, for two …, as a few mostly do; the other way, it starts with nearly all."""
    from pumpkin_solver.optimisation import Direction, Optimiser

    told = model[0].optimise(model[2], Optimiser.LinearUnsatSat, Direction.Minimise, timeout=limit_s)
    native = type(told).__name__
    return Found(native, _read(model, told), complete=native == "Optimal")


def _read(model: Model, told: Any) -> list[int] | None:
    """The values of a solution, where there is one."""
    if type(told).__name__ not in FOUND:
        return None
    solution = told._0  # noqa: SLF001 - how a Rust variant shows what it holds
    return [solution.int_value(variable) for variable in model[1]]


def _differs(model: Any, variables: list[Any], variable: int, value: int) -> Any:
    """A Boolean that says that the variable has not the value."""
    from pumpkin_solver import Comparator, Predicate

    predicate = Predicate(variables[variable], Comparator.NotEqual, value)
    return model.predicate_as_boolean(predicate, model.new_constraint_tag())


def _changes(model: Any, variables: list[Any], problem: Problem) -> Any:
    """An integer that is how many givens change: the objective."""
    from pumpkin_solver.constraints import Equals

    changed = [_differs(model, variables, *given).as_integer() for given in problem.givens]
    changes = model.new_integer_variable(0, len(changed))
    model.add_constraint(Equals([*changed, changes.scaled(-1)], 0, model.new_constraint_tag()))
    return changes


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
