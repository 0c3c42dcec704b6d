"""GLOP, Google's simplex solver: the linear relaxation only. A fractional optimum is no answer.

Documentation: ``glop/parameters.proto``, and OR-Tools' ``pywraplp``, through which it is used.
"""

from __future__ import annotations

from typing import Any

from problems.problem import Problem
from workers.backends import _linear
from workers.backends._linear import HANDLES, STATUS, TASKS, size
from workers.backends.contract import Found, Order, Parameter

__all__ = ["HANDLES", "PARAMETERS", "STATUS", "TASKS", "build", "search", "size", "version"]

ENGINE = "GLOP"
COUNTS = ("iterations",)
PARAMETERS: dict[str, Parameter] = {}


def version() -> str:
    return _linear.version(ENGINE)


def build(problem: Problem, order: Order) -> Any:
    return _linear.build(ENGINE, problem, order)


def search(model: Any, limit_s: float) -> Found:
    return _linear.search(model, limit_s, COUNTS)
