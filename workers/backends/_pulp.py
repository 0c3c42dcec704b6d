"""PuLP with any of its solvers: the direct encoding as a 0/1 program.

The program of the rules is cached; ``LpProblem.copy`` copies it and shares its expressions.

Documentation: PuLP's reference, including its status codes. Each solver's file names the documentation of that solver.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from functools import lru_cache
from typing import Any, NamedTuple

from cagematch.problems.outcome import Task
from cagematch.problems.problem import Problem, Rules
from cagematch.problems.rewrite import ENCODED, Direct, direct
from cagematch.problems.sets import posted
from cagematch.workers.backends._cuts import Cutting, chosen
from cagematch.workers.backends._linear import read, size
from cagematch.workers.backends.contract import CAGES, FAILED, OUT_OF_TIME, REFUTED, SOLVED, Found, Order, Take

__all__ = ["HANDLES", "PARAMETERS", "STATUS", "TASKS", "build", "enumerating", "searching", "size"]

HANDLES = ENCODED
TASKS = tuple(Task)
PARAMETERS = {"cages": CAGES}
OPTIMAL, LATE = (1, 1), (0, 0)
# (status, sol_status): at a time limit PuLP's status can be Optimal, and only sol_status reports the limit.
STATUS = {
    (1, 1): SOLVED,  # Optimal, optimal solution
    (1, 2): SOLVED,  # Optimal, integer feasible: stopped early with a solution
    (0, 0): OUT_OF_TIME,  # Not Solved, no solution found
    (1, 0): OUT_OF_TIME,  # Optimal by name, stopped before a solution
    (-1, -1): REFUTED,  # Infeasible: the relaxation already
    (-1, 0): REFUTED,  # Integer infeasible: CBC completed its search; PuLP has no separate status for it
    (-2, -2): FAILED,  # Unbounded: a 0/1 program never is
    (-3, 0): FAILED,  # Undefined
}


class Model(NamedTuple):
    """A copy of the rules' program, its variables, which all copies share, and the encoding."""

    program: Any
    atoms: list[Any]
    encoding: Direct


def build(problem: Problem, order: Order) -> Model:
    """Copy the rules' program and set the bounds of the puzzle. The next build invalidates the model."""
    rules = posted(problem.rules, order.settings["cages"])
    encoding = direct(rules)
    kept, atoms = _program(rules)
    for atom in atoms:
        atom.lowBound, atom.varValue, atom.dj = 0, None, None
    program = kept.copy()
    givens = [atoms[encoding.number[given]] for given in problem.givens]
    if order.task is Task.REPAIR:
        _maximize_kept(program, givens)
    else:
        for given in givens:
            given.lowBound = 1
    return Model(program, atoms, encoding)


def _maximize_kept(program: Any, givens: Sequence[Any]) -> None:
    """Minimize the negative number of kept givens. The gap is 0, or 0.01 % for HiGHS: less than one given."""
    import pulp

    program.setObjective(pulp.LpAffineExpression(dict.fromkeys(givens, -1)))


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


Search = Callable[[Model, float], Found]
Enumerate = Callable[[Model, float, Take], Found]


def searching(solve: Callable[[Any, float], None]) -> Search:
    """Return the function ``search`` for a function that solves a program within a limit in seconds."""

    def search(model: Model, limit_s: float) -> Found:
        program, atoms, encoding = model
        solve(program, limit_s)
        native = (program.status, program.sol_status)
        if STATUS.get(native) is not SOLVED:
            return Found(native)
        # A variable that presolve removed has no value in the solution file; its value is 0.
        assignment = read(encoding, [atom.varValue or 0 for atom in atoms])
        return Found(native, assignment, complete=native == OPTIMAL)

    return search


def enumerating(search: Search) -> Enumerate:
    """Return the function ``enumerate_all`` for a search."""
    return Cutting(search, _forbid, STATUS, LATE).enumerate_all


def _forbid(model: Model, assignment: Sequence[int]) -> None:
    import pulp

    atoms = (model.atoms[atom] for atom in chosen(model.encoding, assignment))
    model.program.addConstraint(pulp.lpSum(atoms) <= len(assignment) - 1)
