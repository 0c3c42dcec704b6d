"""CaDiCaL, a CDCL SAT solver by Armin Biere and others.

Documentation: github.com/arminbiere/cadical, and python-sat, through which it is used.
"""

from __future__ import annotations

from typing import Any

from cagematch.problems.problem import Problem
from cagematch.workers.backends import _sat
from cagematch.workers.backends._sat import HANDLES, PARAMETERS, STATUS, TASKS, enumerate_all, search, size
from cagematch.workers.backends.contract import Order

__all__ = ["HANDLES", "PARAMETERS", "STATUS", "TASKS", "build", "enumerate_all", "search", "size", "version"]

SOLVER = "cadical195"


def version() -> str:
    return _sat.version("CaDiCaL 1.9.5")


def build(problem: Problem, order: Order) -> Any:
    return _sat.build(SOLVER, problem, order)
