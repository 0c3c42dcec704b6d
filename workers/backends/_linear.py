"""OR-Tools' linear solver, whichever engine is behind it: the direct encoding as a 0/1 program.

Documentation: the OR-Tools reference, ``pywraplp``. The engines' own files name theirs.
"""

from __future__ import annotations

from collections import Counter
from typing import Any

from problems.outcome import Task
from problems.problem import Problem, Rules
from problems.rewrite import ENCODED, Direct, direct
from workers.backends.contract import FAILED, OUT_OF_TIME, REFUTED, SOLVED, Found, Order, Settings, Size

HANDLES = ENCODED
TASKS = (Task.SOLVE,)
STATUS = {
    0: SOLVED,  # OPTIMAL
    1: SOLVED,  # FEASIBLE
    2: REFUTED,  # INFEASIBLE
    3: FAILED,  # UNBOUNDED: a 0/1 program never is
    4: FAILED,  # ABNORMAL
    5: FAILED,  # MODEL_INVALID
    6: OUT_OF_TIME,  # NOT_SOLVED
}
HALF = 0.5  # solvers return 0.9999999 for 1


def version(engine: str) -> str:
    """What the engine calls itself."""
    return str(_solver(engine).SolverVersion())


def build(engine: str, problem: Problem, order: Order) -> tuple[Any, list[Any], Direct]:  # noqa: ARG001
    """Make one binary an atom and one linear constraint a row; clues are bounds."""
    solver = _solver(engine)
    encoding = direct(problem.rules)
    atoms = [solver.BoolVar("") for _ in encoding.atoms]
    for row in encoding.rows:
        constraint = solver.RowConstraint(row.low, row.high, "")
        for atom, weight in zip(row.atoms, row.weights, strict=True):
            constraint.SetCoefficient(atoms[atom], weight)
    for given in problem.givens:
        atoms[encoding.number[given]].SetLb(1)
    return solver, atoms, encoding


def search(model: tuple[Any, list[Any], Direct], limit_s: float) -> Found:
    """Solve within the limit, which the linear solver takes in milliseconds."""
    solver, atoms, encoding = model
    solver.SetTimeLimit(max(1, int(limit_s * 1000)))
    native = solver.Solve()
    counters = {"nodes": solver.nodes(), "iterations": solver.iterations()}
    if STATUS.get(native) is not SOLVED:
        return Found(native, None, counters)
    return Found(native, encoding.decode([atom.solution_value() > HALF for atom in atoms]), counters)


def _solver(engine: str) -> Any:
    from ortools.linear_solver import pywraplp

    solver = pywraplp.Solver.CreateSolver(engine)
    if solver is None:
        raise ImportError(f"this OR-Tools was built without {engine}")
    return solver


def size(rules: Rules, settings: Settings) -> Size:  # noqa: ARG001 - no setting changes the program
    """Count the binaries and the rows by role."""
    encoding = direct(rules)
    return Size({"binary": len(encoding.atoms)}, Counter(f"linear {row.role}" for row in encoding.rows))
