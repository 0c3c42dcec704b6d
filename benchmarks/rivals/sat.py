"""python-sat: pysathq.github.io/docs/html/api/solvers.html, the only interfaces for many clauses at once."""

from __future__ import annotations

from typing import Any

from benchmarks.rivals import Build
from cagematch.problems.clauses import clauses
from cagematch.problems.problem import Problem
from cagematch.workers.backends.contract import Order


def interfaces(backend: Any) -> dict[str, Build]:
    """Return the documented interfaces, by name."""
    name = backend.SOLVER

    def bootstrap(problem: Problem, order: Order) -> Any:  # noqa: ARG001
        """``Solver(bootstrap_with=…)`` of the rules' clauses, ``add_clause`` for the clues."""
        from pysat.solvers import Solver

        found = clauses(problem.rules)
        solver = Solver(name, bootstrap_with=found.clauses)
        for literal in found.givens(problem.givens):
            solver.add_clause([literal])
        return solver, found.encoding

    def clues_first(problem: Problem, order: Order) -> Any:  # noqa: ARG001
        """``Solver(bootstrap_with=…)`` of the clues and the rules' clauses; the solver drops satisfied clauses."""
        from pysat.solvers import Solver

        found = clauses(problem.rules)
        units = [(literal,) for literal in found.givens(problem.givens)]
        return Solver(name, bootstrap_with=[*units, *found.clauses]), found.encoding

    def append(problem: Problem, order: Order) -> Any:  # noqa: ARG001
        """``Solver.append_formula`` of the clues, then of the rules' clauses."""
        from pysat.solvers import Solver

        found = clauses(problem.rules)
        solver = Solver(name)
        solver.append_formula([(literal,) for literal in found.givens(problem.givens)])
        solver.append_formula(found.clauses)
        return solver, found.encoding

    return {"bootstrap_with": bootstrap, "bootstrap_with, clues first": clues_first, "append_formula": append}
