"""Pumpkin, a lazy-clause-generation solver of TU Delft that can log proofs.

Documentation: github.com/ConSol-Lab/pumpkin, and the package pumpkin-solver for the Python interface.
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
Model = tuple[Any, list[Any], Any]  # the model, its variables, and the objective of a repair or None


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
    return first(enumerate_all, model, limit_s) if model[2] is None else _repair(model, limit_s)


def enumerate_all(model: Model, limit_s: float, take: Take) -> Found:
    """Solve repeatedly and add a clause that excludes each solution."""
    from pumpkin_solver.constraints import Clause

    deadline = time.monotonic() + limit_s
    differs = cache(partial(_differs, *model[:2]))
    native = "Unknown"
    while (left_s := deadline - time.monotonic()) > 0:
        result = model[0].satisfy(timeout=left_s)
        native = type(result).__name__
        assignment = _read(model, result)
        if assignment is None or not take(assignment):
            break
        model[0].add_constraint(
            Clause([differs(*taken) for taken in enumerate(assignment)], model[0].new_constraint_tag())
        )
        native = "Unknown"
    return Found(native, complete=native == "Unsatisfiable")


def _repair(model: Model, limit_s: float) -> Found:
    """Minimize from below: 0 changes, 1, 2 …, as few usually suffice. From above, the search starts with nearly all."""
    from pumpkin_solver.optimisation import Direction, Optimiser

    result = model[0].optimise(model[2], Optimiser.LinearUnsatSat, Direction.Minimise, timeout=limit_s)
    native = type(result).__name__
    return Found(native, _read(model, result), complete=native == "Optimal")


def _read(model: Model, result: Any) -> list[int] | None:
    """Return the values of a solution; None if there is none."""
    if type(result).__name__ not in FOUND:
        return None
    solution = result._0  # noqa: SLF001 - the field of the Rust enum variant
    return [solution.int_value(variable) for variable in model[1]]


def _differs(model: Any, variables: list[Any], variable: int, value: int) -> Any:
    """Return a Boolean that holds if and only if the variable does not have the value."""
    from pumpkin_solver import Comparator, Predicate

    predicate = Predicate(variables[variable], Comparator.NotEqual, value)
    return model.predicate_as_boolean(predicate, model.new_constraint_tag())


def _changes(model: Any, variables: list[Any], problem: Problem) -> Any:
    """Return the objective: an integer that equals the number of changed givens."""
    from pumpkin_solver.constraints import Equals

    changed = [_differs(model, variables, *given).as_integer() for given in problem.givens]
    changes = model.new_integer_variable(0, len(changed))
    model.add_constraint(Equals([*changed, changes.scaled(-1)], 0, model.new_constraint_tag()))
    return changes


def _variable(model: Any, values: tuple[int, ...]) -> Any:
    """Create an integer variable by its bounds; a table of one column excludes the gaps of the domain."""
    variable = model.new_integer_variable(values[0], values[-1])
    if values[-1] - values[0] >= len(values):
        from pumpkin_solver.constraints import Table

        model.add_constraint(Table([variable], [[value] for value in values], model.new_constraint_tag()))
    return variable


@singledispatch
def post(constraint: Constraint, model: Any, variables: list[Any]) -> None:
    """Post a constraint; raise NotImplementedError for an unsupported type."""
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
