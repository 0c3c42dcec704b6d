"""Gecode, a constraint solver with copying and recomputation, through MiniZinc.

Documentation: gecode.org, and the MiniZinc Handbook.
"""

from __future__ import annotations

from cagematch.problems.problem import Problem
from cagematch.workers.backends import _minizinc
from cagematch.workers.backends._minizinc import HANDLES, STATUS, TASKS, Model, enumerate_all, search, size
from cagematch.workers.backends.contract import Order, Parameter

__all__ = ["HANDLES", "PARAMETERS", "STATUS", "TASKS", "build", "enumerate_all", "search", "size", "version"]

SOLVER = "gecode"
PARAMETERS: dict[str, Parameter] = {}


def version() -> str:
    return _minizinc.version(SOLVER)


def build(problem: Problem, order: Order) -> Model:
    return _minizinc.build(SOLVER, problem, order)
