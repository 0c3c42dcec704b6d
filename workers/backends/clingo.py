"""Clingo, an answer set solver of the University of Potsdam: choose atoms such that no row is violated.

The ground program is added directly, which takes a seventh of the time of grounding. The rules of the program are
cached; each run adds them and the clues to a new control object.

Documentation: the Potassco guide, and potassco.org/clingo/python-api, ``clingo.backend``.
"""

from __future__ import annotations

import time
from collections import Counter
from functools import lru_cache
from typing import Any

from cagematch.problems.outcome import Task
from cagematch.problems.problem import Problem, Rules
from cagematch.problems.rewrite import ENCODED, Direct, direct
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
    last,
)

HANDLES = ENCODED
TASKS = tuple(Task)
STATUS = {"SAT": SOLVED, "UNSAT": REFUTED, "UNKNOWN": OUT_OF_TIME}
PARAMETERS = {"cages": CAGES, "seed": Parameter(-1, least=-1, help="random seed; -1 uses the seed of the batch")}
Model = tuple[Any, Direct, bool]  # the program, its encoding, and whether the task is a repair
Body = tuple[int, list[tuple[int, int]]]  # a lower bound, and literals with weights; atom a is literal a + 1


def version() -> str:
    import clingo

    return str(clingo.__version__)


def size(rules: Rules, settings: Settings) -> Size:
    encoding = direct(posted(rules, settings["cages"]))
    return Size({"atom": len(encoding.atoms)}, Counter(f"row {row.role}" for row in encoding.rows))


def build(problem: Problem, order: Order) -> Model:
    import clingo

    rules = posted(problem.rules, order.settings["cages"])
    encoding = direct(rules)
    # Enumerate all models. A repair is optimized from unsatisfiable cores; descending from a model takes far longer.
    options = ["--warn=none", f"--seed={order.seed & SEED_MOST}", "--models=0", "--opt-strategy=usc"]
    control = clingo.Control(options, logger=lambda *_: None)
    with control.backend() as backend:
        backend.add_rule([backend.add_atom() for _ in encoding.atoms], choice=True)
        forbidden, weighted = _violations(rules)
        for literals in forbidden:
            backend.add_rule([], literals)
        for least, weights in weighted:
            backend.add_weight_rule([], least, weights)
        changed = [-(encoding.number[given] + 1) for given in problem.givens]
        if order.task is Task.REPAIR:
            backend.add_minimize(0, [(literal, 1) for literal in changed])
        else:
            for literal in changed:
                backend.add_rule([], [literal])
    return control, encoding, order.task is Task.REPAIR


def search(model: Model, limit_s: float) -> Found:
    if model[2]:
        return last(enumerate_all, model, limit_s, "SAT")
    return first(enumerate_all, model, limit_s)


def enumerate_all(model: Model, limit_s: float, take: Take) -> Found:
    control, encoding, _ = model
    deadline = time.monotonic() + limit_s
    native, complete = "UNKNOWN", False
    with control.solve(yield_=True, async_=True) as handle:
        while (left_s := deadline - time.monotonic()) > 0 and handle.wait(left_s):
            found = handle.model()
            if not found:
                ended = handle.get()
                native, complete = str(ended), ended.exhausted
                break
            if not take(encoding.decode([found.is_true(atom + 1) for atom in range(len(encoding.atoms))])):
                native = "SAT"
                break
            handle.resume()
    statistics = control.statistics["solving"]["solvers"]
    counters = {"choices": int(statistics["choices"]), "conflicts": int(statistics["conflicts"])}
    return Found(native, None, counters, complete=complete)


@lru_cache(maxsize=64)
def _violations(rules: Rules) -> tuple[list[list[int]], list[Body]]:
    """Return the conditions that violate a row: a sum above its upper bound or below its lower bound.

    A condition that requires all of its literals is returned as a plain list of literals, the others as weighted
    bodies. A condition that cannot be reached is skipped.
    """
    bodies: list[Body] = []
    for row in direct(rules).rows:
        terms = list(zip(row.atoms, row.weights, strict=True))
        bodies.append(_body(row.high + 1, terms))
        bodies.append(_body(1 - row.low, [(atom, -weight) for atom, weight in terms]))
    totals = [sum(weight for _, weight in literals) for _, literals in bodies]
    compared = list(zip(bodies, totals, strict=True))
    forbidden = [[literal for literal, _ in body[1]] for body, total in compared if body[0] == total]
    return forbidden, [body for body, total in compared if body[0] < total]


def _body(least: int, terms: list[tuple[int, int]]) -> Body:
    """Return a lower bound on a sum with positive weights only: -w × x is w × (not x) - w."""
    literals = [(atom + 1 if weight > 0 else -(atom + 1), abs(weight)) for atom, weight in terms if weight]
    return least - sum(weight for _, weight in terms if weight < 0), literals
