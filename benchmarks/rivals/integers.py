"""Backends without a bulk interface: one call per variable and per constraint; and backends in plain Python.

legacy-cp: or-tools.github.io/docs, ``operations_research::Solver``, ``MakeIntVar`` and ``MakeAllDifferent``.
choco: pychoco.readthedocs.io, ``Model.intvar``, ``Model.intvars``, ``Model.all_different``.
pumpkin: github.com/ConSol-Lab/pumpkin, pumpkin-solver-py: ``Model.new_integer_variable``, ``Model.add_constraint``.
"""

from __future__ import annotations

from functools import lru_cache
from itertools import combinations
from typing import Any

from benchmarks.rivals import Build
from cagematch.problems.constraints import NotEqual
from cagematch.problems.problem import Problem, Rules
from cagematch.workers.backends.contract import Order


def interfaces(backend: Any) -> dict[str, Build]:
    """Return the documented interfaces, by name."""
    return INTERFACES[backend.__name__.rpartition(".")[2]]


def legacy_cp(problem: Problem, order: Order) -> Any:
    """``Solver.IntVar(min, max)`` and ``Solver.AllDifferent`` for each."""
    from ortools.constraint_solver import pywrapcp

    solver = pywrapcp.Solver("")
    solver.ReSeed(order.seed)
    variables = [solver.IntVar(values[0], values[-1]) for values in problem.values]
    for constraint in problem.constraints:
        solver.Add(solver.AllDifferent([variables[v] for v in constraint.scope], True))
    return solver, variables, solver.Phase(variables, solver.CHOOSE_FIRST_UNBOUND, solver.ASSIGN_MIN_VALUE)


def choco_bulk(problem: Problem, order: Order) -> Any:  # noqa: ARG001
    """``Model.intvars``, then ``arithm`` for each clue."""
    from pychoco.model import Model

    model, domain = Model(), problem.rules.domains[0]
    variables = model.intvars(len(problem.rules.domains), domain[0], domain[-1])
    for constraint in problem.constraints:
        model.all_different([variables[v] for v in constraint.scope], "AC").post()
    for variable, value in problem.givens:
        model.arithm(variables[variable], "=", value).post()
    return model, variables


def choco(problem: Problem, order: Order) -> Any:  # noqa: ARG001
    """``Model.intvar(lower, upper)`` for each."""
    from pychoco.model import Model

    model = Model()
    variables = [model.intvar(values[0], values[-1]) for values in problem.values]
    for constraint in problem.constraints:
        model.all_different([variables[v] for v in constraint.scope], "AC").post()
    return model, variables


def pumpkin(problem: Problem, order: Order) -> Any:  # noqa: ARG001
    """``Model.new_integer_variable(lower, upper)`` and ``Model.add_constraint`` for each."""
    from pumpkin_solver import Model
    from pumpkin_solver.constraints import AllDifferent

    model = Model()
    variables = [model.new_integer_variable(values[0], values[-1]) for values in problem.values]
    for constraint in problem.constraints:
        model.add_constraint(AllDifferent([variables[v] for v in constraint.scope], model.new_constraint_tag()))
    return model, variables


def backtracking(problem: Problem, order: Order) -> Any:  # noqa: ARG001
    """Domains, and cached checks."""
    domains = list(problem.rules.domains)
    for variable, value in problem.givens:
        domains[variable] = (value,)
    return domains, _checks(problem.rules)


def propagation(problem: Problem, order: Order) -> Any:  # noqa: ARG001
    """A set of values per variable, and the cached constraints of each variable."""
    left = list(_sets(problem.rules))
    for variable, value in problem.givens:
        left[variable] = frozenset((value,))
    return left, problem.constraints, _over(problem.rules)


@lru_cache
def _checks(rules: Rules) -> tuple[tuple[NotEqual, ...], ...]:
    pairs = {pair: c.role for c in rules.constraints for pair in combinations(sorted(c.scope), 2)}
    every = [NotEqual(pair, role) for pair, role in pairs.items()]
    return tuple(tuple(c for c in every if c.scope[1] <= v) for v in range(len(rules.domains)))


@lru_cache
def _sets(rules: Rules) -> tuple[frozenset[int], ...]:
    return tuple(map(frozenset, rules.domains))


@lru_cache
def _over(rules: Rules) -> tuple[tuple[Any, ...], ...]:
    return tuple(tuple(c for c in rules.constraints if v in c.scope) for v in range(len(rules.domains)))


INTERFACES: dict[str, dict[str, Build]] = {
    "legacy_cp": {"IntVar and AllDifferent": legacy_cp},
    "choco": {"intvar": choco, "intvars": choco_bulk},
    "pumpkin": {"new_integer_variable": pumpkin},
    "backtracking": {"plain": backtracking},
    "propagation": {"plain": propagation},
}
