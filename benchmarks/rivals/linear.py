"""OR-Tools' linear solver: or-tools.github.io/docs, ``MPSolver`` and ``linear_solver.proto``.

The other interface, ``model_builder``, passes its model to a solver only in ``solve``, so it has no build to compare.
"""

from __future__ import annotations

from functools import lru_cache
from typing import Any

from benchmarks.rivals import Build
from cagematch.problems.problem import Problem, Rules
from cagematch.problems.rewrite import direct
from cagematch.workers.backends.contract import Order


def interfaces(backend: Any) -> dict[str, Build]:
    """Return the documented interfaces, by name."""
    engine = backend.ENGINE

    def bounds(problem: Problem, order: Order) -> Any:  # noqa: ARG001
        """``MPSolver::LoadModelFromProto``, then ``MPVariable::SetLB``."""
        solver, encoding = _solver(engine), direct(problem.rules)
        solver.LoadModelFromProto(_proto(problem.rules))
        for given in problem.givens:
            solver.variable(encoding.number[given]).SetLb(1)
        return solver, encoding

    def proto(problem: Problem, order: Order) -> Any:  # noqa: ARG001
        """``MPSolver::LoadModelFromProto`` of a proto with the puzzle's bounds."""
        solver, encoding, program = _solver(engine), direct(problem.rules), _proto(problem.rules)
        bounded = type(program)()
        bounded.CopyFrom(program)
        for given in problem.givens:
            bounded.variable[encoding.number[given]].lower_bound = 1
        solver.LoadModelFromProto(bounded)
        return solver, encoding

    return {"LoadModelFromProto, SetLb": bounds, "LoadModelFromProto of the puzzle": proto}


def _solver(engine: str) -> Any:
    from ortools.linear_solver import pywraplp

    return pywraplp.Solver.CreateSolver(engine)


@lru_cache
def _proto(rules: Rules) -> Any:
    from ortools.linear_solver.linear_solver_pb2 import MPModelProto

    encoding, program = direct(rules), MPModelProto()
    for _ in encoding.atoms:
        program.variable.add(lower_bound=0, upper_bound=1, is_integer=True)
    for row in encoding.rows:
        program.constraint.add(var_index=row.atoms, coefficient=row.weights, lower_bound=row.low, upper_bound=row.high)
    return program
