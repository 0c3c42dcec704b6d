"""PuLP, whichever solver is behind it: the direct encoding as a 0/1 program.

Documentation: PuLP's reference, and of its status codes. The rules' program is made once; ``LpProblem.copy`` copies it
with its expressions by reference. The solvers' own files name theirs.
"""

from __future__ import annotations

from functools import lru_cache
from typing import Any

from problems.outcome import Task
from problems.problem import Problem, Rules
from problems.rewrite import ENCODED, Direct, direct
from workers.backends._linear import read, size
from workers.backends.contract import FAILED, OUT_OF_TIME, REFUTED, SOLVED, Found, Order

__all__ = ["HANDLES", "STATUS", "TASKS", "build", "search", "size"]

HANDLES = ENCODED
TASKS = (Task.SOLVE,)
# (status, sol_status): with a time limit PuLP says Optimal where only sol_status tells a limit.
STATUS = {
    (1, 1): SOLVED,  # Optimal, optimal solution
    (1, 2): SOLVED,  # Optimal, integer feasible: stopped early with a solution
    (0, 0): OUT_OF_TIME,  # Not Solved, no solution found
    (1, 0): OUT_OF_TIME,  # Optimal by name, stopped before a solution
    (-1, -1): REFUTED,  # Infeasible: the relaxation already
    (-1, 0): REFUTED,  # Integer infeasible: CBC searched it all; PuLP has no word of its own for that
    (-2, -2): FAILED,  # Unbounded: a 0/1 program never is
    (-3, 0): FAILED,  # Undefined
}
Model = tuple[Any, list[Any], Direct]


def build(problem: Problem, order: Order) -> Model:  # noqa: ARG001 - nothing to set
    """Copy the rules' program and give its variables the bounds of the puzzle; it is of use until the next build."""
    encoding = direct(problem.rules)
    program, atoms = _program(problem.rules)
    for atom in atoms:
        atom.lowBound, atom.varValue, atom.dj = 0, None, None
    for given in problem.givens:
        atoms[encoding.number[given]].lowBound = 1
    return program.copy(), atoms, encoding


@lru_cache(maxsize=64)
def _program(rules: Rules) -> tuple[Any, list[Any]]:
    import pulp

    encoding = direct(rules)
    atoms = pulp.LpVariable.matrix("a", range(len(encoding.atoms)), 0, 1, "Integer")
    program = pulp.LpProblem("p", pulp.LpMinimize)
    program.setObjective(pulp.LpAffineExpression(constant=0))
    for at, row in enumerate(encoding.rows):
        terms = pulp.LpAffineExpression({atoms[a]: weight for a, weight in zip(row.atoms, row.weights, strict=True)})
        sense = pulp.LpConstraintEQ if row.low == row.high else pulp.LpConstraintLE
        program.addConstraint(pulp.LpConstraint(terms, sense, f"r{at}", row.high))
    return program, atoms


def search(model: Model, solver: Any) -> Found:
    """Solve with a solver of PuLP's, which has been told the limit."""
    program, atoms, encoding = model
    program.solve(solver)
    native = (program.status, program.sol_status)
    if STATUS.get(native) is not SOLVED:
        return Found(native)
    # A variable that presolve removed has no value in a solution file: it is 0.
    return Found(native, read(encoding, [atom.varValue or 0 for atom in atoms]))
