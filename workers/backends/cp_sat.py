"""CP-SAT, Google's lazy-clause-generation solver, through OR-Tools' CpModel.

Documentation: the OR-Tools reference, "CP-SAT Solver", and ``sat_parameters.proto`` for the parameters.
"""

from __future__ import annotations

from collections import Counter
from functools import singledispatch
from typing import Any

from problems.constraints import AllDifferent, Constraint, Less, NotEqual, Sum
from problems.outcome import Task
from problems.problem import Problem, Rules
from problems.rewrite import direct
from workers.backends.contract import (
    FAILED,
    OUT_OF_TIME,
    REFUTED,
    SEED_MOST,
    SOLVED,
    Found,
    Order,
    Parameter,
    Settings,
    Size,
)

HANDLES = (AllDifferent, Sum, NotEqual, Less)
TASKS = (Task.SOLVE,)
STATUS = {
    "OPTIMAL": SOLVED,
    "FEASIBLE": SOLVED,
    "INFEASIBLE": REFUTED,
    "UNKNOWN": OUT_OF_TIME,
    "MODEL_INVALID": FAILED,
}
PARAMETERS = {
    "workers": Parameter(4, least=1, help="parallel searches (num_search_workers)"),
    "encoding": Parameter("int", ("int", "bool"), help="one integer a variable, or one Boolean a value"),
    "presolve": Parameter("on", ("on", "off"), help="simplify the model first (cp_model_presolve)"),
    "seed": Parameter(-1, least=-1, help="random seed; -1 takes the batch's"),
}


def version() -> str:
    import ortools

    return str(ortools.__version__)


def size(rules: Rules, settings: Settings) -> Size:
    if settings["encoding"] == "int":
        posted = Counter(f"{type(c).__name__} {c.role}" for c in rules.constraints)
        return Size({"integer": len(rules.domains)}, posted)
    encoding = direct(rules)
    return Size({"Boolean": len(encoding.atoms)}, Counter(f"linear {row.role}" for row in encoding.rows))


def build(problem: Problem, order: Order) -> tuple[Any, Any, Any]:
    from ortools.sat.python import cp_model

    model, solver = cp_model.CpModel(), cp_model.CpSolver()
    parameters = solver.parameters
    parameters.num_workers = int(order.settings["workers"])
    parameters.random_seed = order.seed & SEED_MOST
    parameters.cp_model_presolve = order.settings["presolve"] == "on"
    parameters.catch_sigint_signal = False
    encode = _integers if order.settings["encoding"] == "int" else _booleans
    return model, solver, encode(model, problem)


def search(model: tuple[Any, Any, Any], limit_s: float) -> Found:
    problem, solver, read = model
    solver.parameters.max_time_in_seconds = limit_s
    native = solver.status_name(solver.solve(problem))
    counters = {"branches": solver.num_branches, "conflicts": solver.num_conflicts}
    return Found(native, read(solver) if native in ("OPTIMAL", "FEASIBLE") else None, counters)


def _integers(model: Any, problem: Problem) -> Any:
    variables = [
        model.new_int_var(values[0], values[-1], "")
        if values[-1] - values[0] == len(values) - 1
        else _sparse(model, values)
        for values in problem.values
    ]
    for constraint in problem.constraints:
        post(constraint, model, variables)
    return lambda solver: [solver.value(variable) for variable in variables]


def _sparse(model: Any, values: tuple[int, ...]) -> Any:
    from ortools.sat.python import cp_model

    return model.new_int_var_from_domain(cp_model.Domain.from_values(values), "")


@singledispatch
def post(constraint: Constraint, model: Any, variables: list[Any]) -> None:
    """Ensures that the constraint holds, over integer variables."""
    raise NotImplementedError(type(constraint).__name__)


@post.register
def _(constraint: AllDifferent, model: Any, variables: list[Any]) -> None:
    model.add_all_different([variables[v] for v in constraint.scope])


@post.register
def _(constraint: Sum, model: Any, variables: list[Any]) -> None:
    model.add(sum(variables[v] for v in constraint.scope) == constraint.total)


@post.register
def _(constraint: NotEqual, model: Any, variables: list[Any]) -> None:
    a, b = constraint.scope
    model.add(variables[a] != variables[b])


@post.register
def _(constraint: Less, model: Any, variables: list[Any]) -> None:
    a, b = constraint.scope
    model.add(variables[a] < variables[b])


def _booleans(model: Any, problem: Problem) -> Any:
    from ortools.sat.python import cp_model

    encoding = direct(problem.rules)
    fixed = {encoding.number[given] for given in problem.givens}
    atoms = [model.new_int_var(int(a in fixed), 1, "") for a in range(len(encoding.atoms))]
    for row in encoding.rows:
        members = [atoms[a] for a in row.atoms]
        if row.high != 1 or set(row.weights) != {1}:
            total = cp_model.LinearExpr.weighted_sum(members, row.weights)
            model.add_linear_constraint(total, row.low, row.high)
        elif row.low:
            model.add_exactly_one(members)
        else:
            model.add_at_most_one(members)
    return lambda solver: encoding.decode([solver.boolean_value(atom) for atom in atoms])
