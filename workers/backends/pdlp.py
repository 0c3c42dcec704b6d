"""PDLP, Google's first-order solver: the linear relaxation only, to a tolerance. A fractional optimum is no answer.

Documentation: the OR-Tools guide, "PDLP", and OR-Tools' ``pywraplp``, through which it is used.
"""

from __future__ import annotations

from typing import Any

from problems.problem import Problem
from workers.backends import _linear
from workers.backends._linear import HANDLES, TASKS, size
from workers.backends.contract import GAVE_UP, Found, Order, Parameter

__all__ = ["HANDLES", "PARAMETERS", "STATUS", "TASKS", "build", "search", "size", "version"]

ENGINE = "PDLP"
# Its certificate of infeasibility holds to a tolerance: it finds one for puzzles that have a solution. No proof, then.
STATUS = _linear.STATUS | {2: GAVE_UP}
COUNTS = ("iterations",)
PARAMETERS: dict[str, Parameter] = {}


def version() -> str:
    return _linear.version(ENGINE)


def build(problem: Problem, order: Order) -> Any:
    return _linear.build(ENGINE, problem, order)


def search(model: Any, limit_s: float) -> Found:
    return _linear.search(model, limit_s, COUNTS)
