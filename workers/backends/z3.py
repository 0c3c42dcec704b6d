"""Z3, Microsoft's SMT solver, over finite domains: pseudo-Boolean constraints on the atoms of the direct encoding.

The rules are one conjunction, which is cached; each run adds it to a new solver.

Documentation: microsoft.github.io/z3guide, "QF_FD"; ``z3.PbEq``, ``z3.PbLe`` and ``z3.Optimize`` of the Python
interface.
"""

from __future__ import annotations

import time
from collections import Counter
from dataclasses import replace
from functools import lru_cache
from typing import Any

from cagematch.problems.outcome import Task
from cagematch.problems.problem import Problem, Rules
from cagematch.problems.rewrite import ENCODED, Direct, LinearRow, direct
from cagematch.problems.sets import posted
from cagematch.workers.backends.contract import (
    CAGES,
    OUT_OF_TIME,
    REFUTED,
    SEED_MOST,
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
TASKS = tuple(Task)
STATUS = {"sat": SOLVED, "unsat": REFUTED, "unknown": OUT_OF_TIME}
PARAMETERS = {"cages": CAGES, "seed": Parameter(-1, least=-1, help="random seed; -1 uses the seed of the batch")}
COUNTERS = ("decisions", "conflicts", "propagations")
Model = tuple[Any, list[Any], Direct]


def version() -> str:
    import z3

    return str(z3.get_version_string())


def size(rules: Rules, settings: Settings) -> Size:
    encoding = direct(posted(rules, settings["cages"]))
    return Size({"Boolean": len(encoding.atoms)}, Counter(f"linear {row.role}" for row in encoding.rows))


def build(problem: Problem, order: Order) -> Model:
    import z3

    rules = posted(problem.rules, order.settings["cages"])
    encoding = direct(rules)
    atoms, conjunction = _conjunction(rules)
    solver = z3.Optimize() if order.task is Task.REPAIR else z3.SolverFor("QF_FD")
    solver.set("random_seed", order.seed & SEED_MOST)
    solver.add(conjunction)
    givens = [atoms[encoding.number[given]] for given in problem.givens]
    if order.task is Task.REPAIR:
        for given in givens:
            solver.add_soft(given)
    else:
        solver.add(givens)
    return solver, atoms, encoding


def search(model: Model, limit_s: float) -> Found:
    """Return the first solution. For a repair it is optimal, as `z3.Optimize` returns only a proved optimum."""
    found = first(enumerate_all, model, limit_s)
    return replace(found, complete=found.native == "sat")


def enumerate_all(model: Model, limit_s: float, take: Take) -> Found:
    """Check repeatedly and add an assertion that excludes each solution."""
    import z3

    solver, atoms, encoding = model
    deadline = time.monotonic() + limit_s
    native = "unknown"
    while (left_ms := int((deadline - time.monotonic()) * 1000)) > 0:
        solver.set("timeout", left_ms)
        native = str(solver.check())
        if native != "sat":
            break
        found = solver.model()
        assignment = encoding.decode([z3.is_true(found[atom]) for atom in atoms])
        if not take(assignment):
            break
        solver.add(z3.Or([z3.Not(atoms[encoding.number[taken]]) for taken in enumerate(assignment or ())]))
        native = "unknown"
    return Found(native, None, _counters(solver), complete=native == "unsat")


def _counters(solver: Any) -> dict[str, int]:
    found = solver.statistics()
    return {key.removeprefix("sat "): int(found.get_key_value(key)) for key in found.keys() if _is_counter(key)}  # noqa: SIM118


def _is_counter(key: str) -> bool:
    return key.removeprefix("sat ") in COUNTERS


@lru_cache(maxsize=64)
def _conjunction(rules: Rules) -> tuple[list[Any], Any]:
    """Return the atoms and a single expression: asserting it takes a tenth of the time of asserting a list."""
    import z3

    encoding = direct(rules)
    atoms = [z3.Bool(f"a{a}") for a in range(len(encoding.atoms))]
    return atoms, z3.And([_assertion(row, atoms) for row in encoding.rows])


def _assertion(row: LinearRow, atoms: list[Any]) -> Any:
    import z3

    terms = [(atoms[a], weight) for a, weight in zip(row.atoms, row.weights, strict=True)]
    return z3.PbEq(terms, row.high) if row.low == row.high else z3.PbLe(terms, row.high)
