"""HiGHS, the linear and mixed-integer solver of the University of Edinburgh, as OR-Tools brings it along.

Documentation: highs.dev, and OR-Tools' ``pywraplp``, through which it is used.
"""

from __future__ import annotations

from typing import Any

from problems.problem import Problem
from workers.backends import _linear
from workers.backends._linear import HANDLES, STATUS, TASKS, search, size
from workers.backends.contract import CAGES, Order

__all__ = ["HANDLES", "PARAMETERS", "STATUS", "TASKS", "build", "search", "size", "version"]

ENGINE = "HIGHS"
PARAMETERS = {"cages": CAGES}


def version() -> str:
    return _linear.version(ENGINE)


def build(problem: Problem, order: Order) -> Any:
    return _linear.build(ENGINE, problem, order)
