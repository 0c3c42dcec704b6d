"""SAT solvers through python-sat: clauses in one call, clues as unit clauses, a budget of conflicts at a time.

Documentation: pysathq.github.io, ``pysat.solvers``. The solvers' own files name theirs.
"""

from __future__ import annotations

import time
from typing import Any

from problems.clauses import clauses
from problems.outcome import Task
from problems.problem import Problem, Rules
from problems.rewrite import ENCODED, Direct
from problems.sets import posted
from workers.backends.contract import OUT_OF_TIME, REFUTED, SOLVED, Found, Order, Settings, Size

HANDLES = ENCODED
TASKS = (Task.SOLVE,)
STATUS = {True: SOLVED, False: REFUTED, None: OUT_OF_TIME}  # None: stopped within its budget of conflicts
BUDGET = 2_000  # conflicts between two looks at the clock
COUNTERS = ("restarts", "conflicts", "decisions", "propagations")
Model = tuple[Any, Direct]


def version(told: str) -> str:
    """The solver's version, which is part of its name in python-sat, and python-sat's own."""
    import pysat

    return f"{told} (python-sat {pysat.__version__})"


def size(rules: Rules, settings: Settings) -> Size:
    """Count the literals, and the clauses by role."""
    found = clauses(posted(rules, settings["cages"]))
    auxiliary = found.literals - len(found.encoding.atoms)
    return Size(
        {"Boolean": len(found.encoding.atoms)} | ({"auxiliary": auxiliary} if auxiliary else {}),
        {f"clause {role}": number for role, number in found.roles.items()},
    )


def build(solver: str, problem: Problem, order: Order) -> Model:
    """Give a new solver the rules' clauses, and the clues as clauses of one literal."""
    from pysat.solvers import Solver

    found = clauses(posted(problem.rules, order.settings["cages"]))
    made = Solver(name=solver, bootstrap_with=found.clauses)
    for literal in found.givens(problem.givens):
        made.add_clause([literal])
    return made, found.encoding


def search(model: Model, limit_s: float) -> Found:
    """Solve, a budget of conflicts at a time; what was learnt is kept from one to the next."""
    solver, encoding = model
    deadline = time.monotonic() + limit_s
    with solver:
        solver.conf_budget(BUDGET)
        while (native := solver.solve_limited()) is None and time.monotonic() < deadline:
            solver.conf_budget(BUDGET)
        told = solver.accum_stats() or {}
        counters = {name: told[name] for name in COUNTERS if name in told}
        if not native:
            return Found(native, None, counters)
        chosen = solver.get_model()[: len(encoding.atoms)]
    return Found(native, encoding.decode([literal > 0 for literal in chosen]), counters)
