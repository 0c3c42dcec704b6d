"""SAT solvers through python-sat: all clauses in one call, clues as unit clauses, and budgets of conflicts.

Documentation: pysathq.github.io, ``pysat.solvers``, and ``pysat.examples.rc2`` for repairs, a MaxSAT solver on top of
a SAT solver. Each solver's file names the documentation of that solver.
"""

from __future__ import annotations

import time
from collections.abc import Sequence
from typing import Any

from cagematch.problems.clauses import Clauses, clauses, reduced
from cagematch.problems.outcome import Task
from cagematch.problems.problem import Problem, Rules
from cagematch.problems.rewrite import ENCODED, Direct, direct
from cagematch.problems.sets import posted
from cagematch.workers.backends.contract import (
    CAGES,
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

HANDLES = ENCODED
PARAMETERS = {
    "cages": CAGES,
    "presolve": Parameter("off", ("off", "on"), help="encode only what the clues leave open: for large grids"),
}
TASKS = tuple(Task)
STATUS = {True: SOLVED, False: REFUTED, None: OUT_OF_TIME}  # None: the budget of conflicts is exhausted
# A search that is interrupted and resumed takes a different course. Budgets therefore double while the next one is
# likely to fit into a share of the remaining time. After that, the course of a search depends on the clock.
BUDGET = 2_000  # conflicts: the first and the smallest budget
SHARE = 0.5
COUNTERS = ("restarts", "conflicts", "decisions", "propagations")
Model = tuple[Any, Direct]  # a solver, or RC2 with a solver inside


def version(solver: str) -> str:
    """Return the solver's name and version, which python-sat fixes, and the version of python-sat."""
    import pysat

    return f"{solver} (python-sat {pysat.__version__})"


def size(rules: Rules, settings: Settings) -> Size:
    """Count the Boolean variables, and the clauses by role."""
    found = clauses(posted(rules, settings["cages"]))
    auxiliary = found.literals - len(found.encoding.atoms)
    return Size(
        {"Boolean": len(found.encoding.atoms)} | ({"auxiliary": auxiliary} if auxiliary else {}),
        {f"clause {role}": number for role, number in found.roles.items()},
    )


def build(solver: str, problem: Problem, order: Order) -> Model:
    """Load the clauses of the rules into a new solver; clues are unit clauses, and soft clauses for a repair."""
    from pysat.solvers import Solver

    rules = posted(problem.rules, order.settings["cages"])
    if order.task is Task.REPAIR:
        return _softened(solver, clauses(rules), problem), direct(rules)
    found = reduced(rules, problem.givens) if order.settings["presolve"] == "on" else clauses(rules)
    made = Solver(name=solver, bootstrap_with=found.clauses)
    for literal in found.givens(problem.givens):
        made.add_clause([literal])
    return made, found.encoding


def search(model: Model, limit_s: float) -> Found:
    """Find a solution, or a minimal repair if the model is a MaxSAT model."""
    from pysat.solvers import Solver

    return first(enumerate_all, model, limit_s) if isinstance(model[0], Solver) else _repair(model, limit_s)


def enumerate_all(model: Model, limit_s: float, take: Take) -> Found:
    """Solve repeatedly and add a clause that excludes each solution; learnt clauses are kept."""
    solver, encoding = model
    deadline = time.monotonic() + limit_s
    with solver:
        while native := limited(solver, deadline):
            assignment = _read(solver.get_model(), encoding)
            if not take(assignment):
                break
            solver.add_clause([-(encoding.number[taken] + 1) for taken in enumerate(assignment or ())])
        return Found(native, None, _counters(solver), complete=native is False)


def limited(solver: Any, deadline: float, assumptions: Sequence[int] = ()) -> bool | None:
    """Solve with budgets of conflicts until the deadline; learnt clauses are kept.

    Parameters
    ----------
    solver
        A solver of python-sat.
    deadline
        The end of the search by `time.monotonic`, in seconds.
    assumptions
        Literals that hold in this call.

    Returns
    -------
    bool | None
        Whether the formula is satisfiable; None at the deadline.
    """
    native: bool | None = None
    budget, spent = BUDGET, 0
    began = time.monotonic()
    while native is None and (left_s := deadline - time.monotonic()) > 0:
        if spent:
            likely = SHARE * left_s * spent / (time.monotonic() - began)
            budget = max(BUDGET, min(2 * budget, int(likely)))
        solver.conf_budget(budget)
        native = solver.solve_limited(assumptions=assumptions)
        spent += budget
    return native


def _repair(model: Model, limit_s: float) -> Found:
    maxsat, encoding = model
    maxsat.deadline = time.monotonic() + limit_s
    with maxsat:
        try:
            chosen = maxsat.compute()
        except TimeoutError:
            return Found(None, None, _counters(maxsat.oracle))
        assignment = _read(chosen, encoding) if chosen else None
        return Found(bool(chosen), assignment, _counters(maxsat.oracle), complete=bool(chosen))


def _softened(solver: str, found: Clauses, problem: Problem) -> Any:
    """Return a MaxSAT solver (RC2 of python-sat), which is guided by cores of contradictory givens."""
    from pysat.examples.rc2 import RC2
    from pysat.formula import WCNF

    class Limited(RC2):
        """RC2 that raises TimeoutError at its deadline."""

        deadline = 0.0

        def _call_oracle(self, assumptions: Sequence[int] = (), expect_interrupt: bool = False) -> bool:  # noqa: ARG002
            native = limited(self.oracle, self.deadline, assumptions)
            if native is None:
                raise TimeoutError
            return native

    formula = WCNF()
    formula.extend(found.clauses)
    formula.extend([[literal] for literal in found.givens(problem.givens)], weights=[1] * len(problem.givens))
    return Limited(formula, solver=solver)


def _read(literals: Sequence[int], encoding: Direct) -> tuple[int, ...] | None:
    return encoding.decode([literal > 0 for literal in literals[: len(encoding.atoms)]])


def _counters(solver: Any) -> dict[str, int]:
    statistics = solver.accum_stats() or {}
    return {name: statistics[name] for name in COUNTERS if name in statistics}
