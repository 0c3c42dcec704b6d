"""CP-SAT: or-tools.github.io/docs/pdoc/ortools/sat/python/cp_model.html, and ``cp_model.proto``."""

from __future__ import annotations

from functools import lru_cache
from typing import Any

from benchmarks.rivals import Build
from cagematch.problems.problem import Problem, Rules
from cagematch.problems.rewrite import direct
from cagematch.workers.backends.contract import Order


def interfaces(backend: Any) -> dict[str, Build]:  # noqa: ARG001 - the settings select the formulation
    """Return the documented interfaces, by name."""
    return {"CpModel.clone": clone, "CpModelProto.copy_from": copy, "CpModelProto.parse_text_format": parse}


def clone(problem: Problem, order: Order) -> Any:
    """``CpModel.clone``, then the domains in its proto."""
    return _with_clues(_model(problem.rules, order).clone(), problem, order)


def copy(problem: Problem, order: Order) -> Any:
    """``CpModelProto.copy_from``, which ``clone`` calls, then the domains in the proto."""
    from ortools.sat.python import cp_model

    model = cp_model.CpModel()
    model.proto.copy_from(_model(problem.rules, order).proto)
    return _with_clues(model, problem, order)


def parse(problem: Problem, order: Order) -> Any:
    """``CpModelProto.parse_text_format`` of the model as text, then the domains in the proto."""
    from ortools.sat.python import cp_model

    model = cp_model.CpModel()
    model.proto.parse_text_format(_text(problem.rules, _boolean(order)))
    return _with_clues(model, problem, order)


def _with_clues(model: Any, problem: Problem, order: Order) -> Any:
    from ortools.sat.python import cp_model

    variables = model.proto.variables
    if _boolean(order):
        number = direct(problem.rules).number
        for given in problem.givens:
            variables[number[given]].domain[0] = 1
    else:
        for variable, value in problem.givens:
            domain = variables[variable].domain
            domain.clear()
            domain.extend((value, value))
    solver = cp_model.CpSolver()
    parameters = solver.parameters
    parameters.num_workers = int(order.settings["workers"])
    parameters.random_seed = order.seed
    parameters.catch_sigint_signal = False
    return model, solver


def _boolean(order: Order) -> bool:
    return order.settings["encoding"] == "bool"


def _model(rules: Rules, order: Order) -> Any:
    return _booleans(rules) if _boolean(order) else _integers(rules)


@lru_cache
def _text(rules: Rules, boolean: bool) -> str:
    return str((_booleans if boolean else _integers)(rules).proto)


@lru_cache
def _integers(rules: Rules) -> Any:
    from ortools.sat.python import cp_model

    model = cp_model.CpModel()
    variables = [model.new_int_var(values[0], values[-1], "") for values in rules.domains]
    for constraint in rules.constraints:
        model.add_all_different([variables[v] for v in constraint.scope])
    return model


@lru_cache
def _booleans(rules: Rules) -> Any:
    from ortools.sat.python import cp_model

    model, encoding = cp_model.CpModel(), direct(rules)
    atoms = [model.new_bool_var("") for _ in encoding.atoms]
    for row in encoding.rows:
        model.add_exactly_one([atoms[a] for a in row.atoms])
    return model
