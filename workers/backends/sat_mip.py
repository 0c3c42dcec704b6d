"""CP-SAT behind the interface of a MIP solver: the same 0/1 program as its neighbours get.

Documentation: ``sat_parameters.proto``, and OR-Tools' ``pywraplp``, through which it is used.
"""

from __future__ import annotations

from typing import Any

from problems.problem import Problem
from workers.backends import _linear
from workers.backends._linear import HANDLES, STATUS, TASKS, size
from workers.backends.contract import CAGES, Found, Order

__all__ = ["HANDLES", "PARAMETERS", "STATUS", "TASKS", "build", "search", "size", "version"]

ENGINE = "SAT"
COUNTS = ()  # the interface passes on neither branches nor conflicts
PARAMETERS = {"cages": CAGES}


def version() -> str:
    return _linear.version(ENGINE)


def build(problem: Problem, order: Order) -> Any:
    return _linear.build(ENGINE, problem, order)


def search(model: Any, limit_s: float) -> Found:
    return _linear.search(model, limit_s, COUNTS)
