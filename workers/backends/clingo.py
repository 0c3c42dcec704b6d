"""Clingo, an answer set solver of the University of Potsdam: choose atoms, and let no row be broken.

Documentation: the Potassco guide, and potassco.org/clingo/python-api. The rules go in as a logic program and its
facts, made once; each run grounds them with the clues in a new control object.
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
# A row: its least and greatest sum, and the weights of its atoms.
PROGRAM = """
{ holds(A) : atom(A) }.
:- row(R, L, H), not L { holds(A) : term(R, A, 1) } H, not weighted(R).
:- row(R, L, H), not L #sum { W, A : term(R, A, W), holds(A) } H, weighted(R).
#show holds/1.
"""
Model = tuple[Any, Direct]


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
    clues = "".join(f":- not holds({encoding.number[given]})." for given in problem.givens)
    control.add("base", [], _program(problem.rules) + clues)
    control.ground([("base", [])])
    return control, encoding


def search(model: Model, limit_s: float) -> Found:
    control, encoding = model
    with control.solve(yield_=True, async_=True) as handle:
        ended = handle.wait(limit_s)
        found = handle.model() if ended else None
        chosen = {symbol.arguments[0].number for symbol in found.symbols(shown=True)} if found else set()
        native = "SAT" if found else "UNSAT" if ended and handle.get().unsatisfiable else "UNKNOWN"
    told = control.statistics["solving"]["solvers"]
    counters = {"choices": int(told["choices"]), "conflicts": int(told["conflicts"])}
    if not found:
        return Found(native, None, counters)
    return Found(native, encoding.decode([atom in chosen for atom in range(len(encoding.atoms))]), counters)


@lru_cache(maxsize=64)
def _program(rules: Rules) -> str:
    encoding = direct(rules)
    facts = [f"atom(0..{len(encoding.atoms) - 1})."]
    for number, row in enumerate(encoding.rows):
        facts.append(f"row({number},{row.low},{row.high}).")
        facts += [f"term({number},{atom},{weight})." for atom, weight in zip(row.atoms, row.weights, strict=True)]
        if set(row.weights) != {1}:
            facts.append(f"weighted({number}).")
    return PROGRAM + "".join(facts)
