"""Glucose, a CDCL SAT solver by Gilles Audemard and Laurent Simon.

Documentation: github.com/audemard/glucose, and python-sat, through which it is used.
"""

from __future__ import annotations

from typing import Any

from cagematch.problems.problem import Problem
from cagematch.workers.backends import _sat
from cagematch.workers.backends._sat import HANDLES, PARAMETERS, STATUS, TASKS, enumerate_all, search, size
from cagematch.workers.backends.contract import Order

__all__ = ["HANDLES", "PARAMETERS", "STATUS", "TASKS", "build", "enumerate_all", "search", "size", "version"]

SOLVER = "glucose42"


def version() -> str:
    return _sat.version("Glucose 4.2.1")


def build(problem: Problem, order: Order) -> Any:
    return _sat.build(SOLVER, problem, order)
