"""Z3: z3prover.github.io/api/html/classz3py_1_1_solver.html, ``add``, ``from_string`` and ``translate``."""

from __future__ import annotations

from functools import lru_cache
from typing import Any

from benchmarks.rivals import Build
from cagematch.problems.problem import Problem, Rules
from cagematch.problems.rewrite import direct
from cagematch.workers.backends.contract import Order


def interfaces(backend: Any) -> dict[str, Build]:  # noqa: ARG001
    """Return the documented interfaces, by name."""
    return {"add of a conjunction": conjunction, "add of a list": each, "from_string": text, "translate": translated}


def conjunction(problem: Problem, order: Order) -> Any:
    """``Solver.add`` of one ``And``."""
    import z3

    atoms, _ = _expressions(problem.rules)
    return _with_clues(z3.SolverFor("QF_FD"), problem, order, atoms, _all(problem.rules))


def each(problem: Problem, order: Order) -> Any:
    """``Solver.add`` of all rows."""
    import z3

    atoms, rows = _expressions(problem.rules)
    return _with_clues(z3.SolverFor("QF_FD"), problem, order, atoms, rows)


def text(problem: Problem, order: Order) -> Any:
    """``Solver.from_string`` of SMT-LIB, followed by assertions for the clues."""
    import z3

    encoding = direct(problem.rules)
    atoms, _ = _expressions(problem.rules)
    clues = "".join(f"(assert a{encoding.number[given]})" for given in problem.givens)
    solver = z3.SolverFor("QF_FD")
    solver.set("random_seed", order.seed)
    solver.from_string(_text(problem.rules) + clues)
    return solver, atoms, encoding


def translated(problem: Problem, order: Order) -> Any:
    """``Solver.translate`` of a solver that was never used."""
    atoms, _ = _expressions(problem.rules)
    base = _solver(problem.rules)
    return _with_clues(base.translate(base.ctx), problem, order, atoms, [])


def _with_clues(solver: Any, problem: Problem, order: Order, atoms: list[Any], rows: Any) -> Any:
    encoding = direct(problem.rules)
    solver.set("random_seed", order.seed)
    solver.add(rows)
    solver.add([atoms[encoding.number[given]] for given in problem.givens])
    return solver, atoms, encoding


@lru_cache
def _expressions(rules: Rules) -> tuple[list[Any], list[Any]]:
    import z3

    encoding = direct(rules)
    atoms = [z3.Bool(f"a{a}") for a in range(len(encoding.atoms))]
    return atoms, [z3.PbEq([(atoms[a], 1) for a in row.atoms], row.high) for row in encoding.rows]


@lru_cache
def _all(rules: Rules) -> Any:
    import z3

    return z3.And(_expressions(rules)[1])


@lru_cache
def _solver(rules: Rules) -> Any:
    import z3

    solver = z3.SolverFor("QF_FD")
    solver.add(_expressions(rules)[1])
    return solver


@lru_cache
def _text(rules: Rules) -> str:
    import z3

    solver = z3.Solver()  # A solver for QF_FD exports nothing.
    solver.add(_expressions(rules)[1])
    return str(solver.to_smt2()).replace("(check-sat)", "")
