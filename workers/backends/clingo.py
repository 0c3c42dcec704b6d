"""Clingo, an answer set solver of the University of Potsdam: choose atoms, and let no row be broken.

Documentation: the Potassco guide, and potassco.org/clingo/python-api, ``clingo.backend``: a program that is ground
already, which takes a seventh of the time of grounding it. Its rules are made once; each run adds them to a new control
object, and the clues.
"""

from __future__ import annotations

from collections import Counter
from functools import lru_cache
from typing import Any

from problems.outcome import Task
from problems.problem import Problem, Rules
from problems.rewrite import ENCODED, Direct, direct
from workers.backends.contract import OUT_OF_TIME, REFUTED, SEED_MOST, SOLVED, Found, Order, Parameter, Settings, Size

HANDLES = ENCODED
TASKS = (Task.SOLVE,)
STATUS = {"SAT": SOLVED, "UNSAT": REFUTED, "UNKNOWN": OUT_OF_TIME}
PARAMETERS = {"seed": Parameter(-1, least=-1, help="random seed; -1 takes the batch's")}
Model = tuple[Any, Direct]
Body = tuple[int, list[tuple[int, int]]]  # a least sum, and literals with their weights; atom a is literal a + 1


def version() -> str:
    import clingo

    return str(clingo.__version__)


def size(rules: Rules, settings: Settings) -> Size:  # noqa: ARG001 - nothing to set
    encoding = direct(rules)
    return Size({"atom": len(encoding.atoms)}, Counter(f"row {row.role}" for row in encoding.rows))


def build(problem: Problem, order: Order) -> Model:
    import clingo

    encoding = direct(problem.rules)
    control = clingo.Control(["--warn=none", f"--seed={order.seed & SEED_MOST}"], logger=lambda *_: None)
    with control.backend() as backend:
        backend.add_rule([backend.add_atom() for _ in encoding.atoms], choice=True)
        ruled_out, weighted = _broken(problem.rules)
        for literals in ruled_out:
            backend.add_rule([], literals)
        for least, weights in weighted:
            backend.add_weight_rule([], least, weights)
        for given in problem.givens:
            backend.add_rule([], [-(encoding.number[given] + 1)])
    return control, encoding


def search(model: Model, limit_s: float) -> Found:
    control, encoding = model
    with control.solve(yield_=True, async_=True) as handle:
        ended = handle.wait(limit_s)
        found = handle.model() if ended else None
        chosen = [found.is_true(atom + 1) for atom in range(len(encoding.atoms))] if found else []
        native = "SAT" if found else "UNSAT" if ended and handle.get().unsatisfiable else "UNKNOWN"
    told = control.statistics["solving"]["solvers"]
    counters = {"choices": int(told["choices"]), "conflicts": int(told["conflicts"])}
    if not found:
        return Found(native, None, counters)
    return Found(native, encoding.decode(chosen), counters)


@lru_cache(maxsize=64)
def _broken(rules: Rules) -> tuple[list[list[int]], list[Body]]:
    """What may not hold of a row: a sum above its greatest, or below its least.

    Apart, as literals that may not all hold, where the sum takes them all; one that is out of reach is left out.
    """
    bodies: list[Body] = []
    for row in direct(rules).rows:
        terms = list(zip(row.atoms, row.weights, strict=True))
        bodies.append(_body(row.high + 1, terms))
        bodies.append(_body(1 - row.low, [(atom, -weight) for atom, weight in terms]))
    totals = [sum(weight for _, weight in literals) for _, literals in bodies]
    compared = list(zip(bodies, totals, strict=True))
    ruled_out = [[literal for literal, _ in body[1]] for body, total in compared if body[0] == total]
    return ruled_out, [body for body, total in compared if body[0] < total]


def _body(least: int, terms: list[tuple[int, int]]) -> Body:
    """A sum that reaches its least, told with positive weights: -w where x holds is w where it does not, and w less."""
    literals = [(atom + 1 if weight > 0 else -(atom + 1), abs(weight)) for atom, weight in terms if weight]
    return least - sum(weight for _, weight in terms if weight < 0), literals
