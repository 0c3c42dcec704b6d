"""PDLP, Google's first-order solver. It solves the linear relaxation to a tolerance.

A fractional optimum is not an answer.

Documentation: the OR-Tools guide, "PDLP", and OR-Tools' ``pywraplp``, through which it is used.
"""

from __future__ import annotations

from cagematch.workers.backends import _linear
from cagematch.workers.backends._linear import HANDLES, PARAMETERS, engine, search, size
from cagematch.workers.backends._linear import RELAXED as TASKS
from cagematch.workers.backends.contract import GAVE_UP

__all__ = ["HANDLES", "PARAMETERS", "STATUS", "TASKS", "build", "search", "size", "version"]

# Its certificate of infeasibility holds only to a tolerance and is not a proof: it exists for solvable puzzles.
STATUS = _linear.STATUS | {2: GAVE_UP}
ENGINE = "PDLP"
version, build = engine(ENGINE, counts=("iterations",))
