"""Local search: assign a random value to every variable, then repair one violated constraint after another.

The method may find a solution but never proves that there is none. It is suitable for small grids.

Source: Minton et al., "Minimizing conflicts: a heuristic repair method" (1992).
"""

from __future__ import annotations

import random
import time
from collections import Counter
from collections.abc import Sequence
from typing import get_args

from cagematch.problems.constraints import Constraint
from cagematch.problems.outcome import Task
from cagematch.problems.problem import Problem, Rules
from cagematch.workers.backends.contract import OUT_OF_TIME, SOLVED, Found, Order, Parameter, Settings, Size

HANDLES = get_args(Constraint)  # every type, as only `holds` is called
TASKS = (Task.SOLVE,)
STATUS = {"solution": SOLVED, "limit": OUT_OF_TIME}
PARAMETERS = {
    "noise": Parameter(10, least=0, most=100, help="percentage of steps that choose a random value"),
    "seed": Parameter(-1, least=-1, help="random seed; -1 uses the seed of the batch"),
}


def version() -> str:
    return "1.0"


def size(rules: Rules, settings: Settings) -> Size:
    return Size({"integer": len(rules.domains)}, Counter(f"{type(c).__name__} {c.role}" for c in rules.constraints))


def build(problem: Problem, order: Order) -> tuple[Problem, random.Random, int]:
    return problem, random.Random(order.seed), int(order.settings["noise"])


def search(model: tuple[Problem, random.Random, int], limit_s: float) -> Found:
    problem, dice, noise = model
    deadline = time.monotonic() + limit_s
    assignment = [dice.choice(values) for values in problem.values]
    steps = 0
    while violated := [c for c in problem.constraints if not c.holds(assignment)]:
        if time.monotonic() > deadline:
            return Found("limit", None, {"steps": steps})
        variable = dice.choice(dice.choice(violated).scope)
        values = list(problem.values[variable])
        dice.shuffle(values)
        if dice.randrange(100) >= noise:
            values.sort(key=lambda value: _conflicts(problem, assignment, variable, value))
        assignment[variable] = values[0]
        steps += 1
    return Found("solution", assignment, {"steps": steps})


def _conflicts(problem: Problem, assignment: Sequence[int], variable: int, value: int) -> int:
    changed = [*assignment]
    changed[variable] = value
    return sum(not c.holds(changed) for c in problem.constraints if variable in c.scope)
