"""BOP, Google's solver of pure 0/1 programs, which CP-SAT took the place of.

Documentation: ``bop_parameters.proto``, and OR-Tools' ``pywraplp``, through which it is used.
"""

from __future__ import annotations

from typing import Any

from problems.problem import Problem
from workers.backends import _linear
from workers.backends._linear import HANDLES, STATUS, TASKS, size
from workers.backends.contract import CAGES, Found, Order

__all__ = ["HANDLES", "PARAMETERS", "STATUS", "TASKS", "build", "search", "size", "version"]

ENGINE = "BOP"
COUNTS = ()  # it counts neither nodes nor iterations
PARAMETERS = {"cages": CAGES}


def version() -> str:
    return _linear.version(ENGINE)


def build(problem: Problem, order: Order) -> Any:
    return _linear.build(ENGINE, problem, order)


def search(model: Any, limit_s: float) -> Found:
    return _linear.search(model, limit_s, COUNTS)
