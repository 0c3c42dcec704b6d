"""PDLP, Google's first-order solver: the linear relaxation only, to a tolerance. A fractional optimum is no answer.

Documentation: the OR-Tools guide, "PDLP", and OR-Tools' ``pywraplp``, through which it is used.
"""

from __future__ import annotations

from cagematch.workers.backends import _linear
from cagematch.workers.backends._linear import HANDLES, PARAMETERS, engine, search, size
from cagematch.workers.backends._linear import RELAXED as TASKS
from cagematch.workers.backends.contract import GAVE_UP

__all__ = ["HANDLES", "PARAMETERS", "STATUS", "TASKS", "build", "search", "size", "version"]

# Its certificate of infeasibility holds to a tolerance: it finds one for puzzles that have a solution. No proof, then.
STATUS = _linear.STATUS | {2: GAVE_UP}
ENGINE = "PDLP"
version, build = engine(ENGINE, counts=("iterations",))
