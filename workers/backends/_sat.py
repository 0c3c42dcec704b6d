"""SAT solvers through python-sat: clauses in one call, clues as unit clauses, a budget of conflicts at a time.

Documentation: pysathq.github.io, ``pysat.solvers``, and of repairs ``pysat.examples.rc2``, a MaxSAT solver around any
of them. The solvers' own files name theirs.
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
STATUS = {True: SOLVED, False: REFUTED, None: OUT_OF_TIME}  # None: stopped within its budget of conflicts
# A search that is stopped and taken up again goes another way. So budgets double as long as the next is likely to be
# spent within a part of the time that is left. From there on the clock has a say in how the search goes on.
BUDGET = 2_000  # conflicts, the first and the least
SHARE = 0.5
COUNTERS = ("restarts", "conflicts", "decisions", "propagations")
Model = tuple[Any, Direct]  # a solver, or RC2 around one


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
    """Give a new solver the rules' clauses, and the clues as clauses of one literal: soft ones, of a repair."""
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
    """Solve; or mend, where the model is one of MaxSAT."""
    from pysat.solvers import Solver

    return first(enumerate_all, model, limit_s) if isinstance(model[0], Solver) else _mend(model, limit_s)


def enumerate_all(model: Model, limit_s: float, take: Take) -> Found:
    """Solve again and again, with a clause more that rules out the solution found; what was learnt is kept."""
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
    """Solve, a budget of conflicts at a time, until the deadline; what was learnt is kept from one to the next."""
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


def _mend(model: Model, limit_s: float) -> Found:
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
    """MaxSAT by python-sat's RC2, which asks the solver for cores of givens that cannot all hold."""
    from pysat.examples.rc2 import RC2
    from pysat.formula import WCNF

    class Limited(RC2):
        """RC2 that looks at the clock: it raises TimeoutError."""

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
    told = solver.accum_stats() or {}
    return {name: told[name] for name in COUNTERS if name in told}
