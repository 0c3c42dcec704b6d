"""Z3, Microsoft's SMT solver, over finite domains: pseudo-Boolean constraints on the atoms of the direct encoding.

Documentation: microsoft.github.io/z3guide, "QF_FD"; ``z3.PbEq`` and ``z3.PbLe`` of its Python interface. The rules are
one conjunction, made once; each run gives it to a new solver.
"""

from __future__ import annotations

from collections import Counter
from functools import lru_cache
from typing import Any

from problems.outcome import Task
from problems.problem import Problem, Rules
from problems.rewrite import ENCODED, Direct, Row, direct
from workers.backends.contract import OUT_OF_TIME, REFUTED, SEED_MOST, SOLVED, Found, Order, Parameter, Settings, Size

HANDLES = ENCODED
TASKS = (Task.SOLVE,)
STATUS = {"sat": SOLVED, "unsat": REFUTED, "unknown": OUT_OF_TIME}
PARAMETERS = {"seed": Parameter(-1, least=-1, help="random seed; -1 takes the batch's")}
COUNTERS = ("decisions", "conflicts", "propagations")
Model = tuple[Any, list[Any], Direct]


def version() -> str:
    import z3

    return str(z3.get_version_string())


def size(rules: Rules, settings: Settings) -> Size:  # noqa: ARG001 - nothing to set
    encoding = direct(rules)
    return Size({"Boolean": len(encoding.atoms)}, Counter(f"linear {row.role}" for row in encoding.rows))


def build(problem: Problem, order: Order) -> Model:
    import z3

    encoding = direct(problem.rules)
    atoms, conjunction = _conjunction(problem.rules)
    solver = z3.SolverFor("QF_FD")
    solver.set("random_seed", order.seed & SEED_MOST)
    solver.add(conjunction)
    solver.add([atoms[encoding.number[given]] for given in problem.givens])
    return solver, atoms, encoding


def search(model: Model, limit_s: float) -> Found:
    import z3

    solver, atoms, encoding = model
    solver.set("timeout", max(1, int(limit_s * 1000)))
    native = str(solver.check())
    told = solver.statistics()
    counters = {key.removeprefix("sat "): int(told.get_key_value(key)) for key in told.keys() if _counts(key)}  # noqa: SIM118
    if native != "sat":
        return Found(native, None, counters)
    found = solver.model()
    return Found(native, encoding.decode([z3.is_true(found[atom]) for atom in atoms]), counters)


def _counts(key: str) -> bool:
    return key.removeprefix("sat ") in COUNTERS


@lru_cache(maxsize=64)
def _conjunction(rules: Rules) -> tuple[list[Any], Any]:
    """One expression: to assert it takes a tenth of the time of a list."""
    import z3

    encoding = direct(rules)
    atoms = [z3.Bool(f"a{a}") for a in range(len(encoding.atoms))]
    return atoms, z3.And([_assertion(row, atoms) for row in encoding.rows])


def _assertion(row: Row, atoms: list[Any]) -> Any:
    import z3

    terms = [(atoms[a], weight) for a, weight in zip(row.atoms, row.weights, strict=True)]
    return z3.PbEq(terms, row.high) if row.low == row.high else z3.PbLe(terms, row.high)
