"""CLP, the simplex solver of COIN-OR. It solves the linear relaxation; a fractional optimum is not an answer.

Documentation: the CLP User Guide, and OR-Tools' ``pywraplp``, through which it is used.
"""

from __future__ import annotations

from cagematch.workers.backends._linear import HANDLES, PARAMETERS, STATUS, engine, search, size
from cagematch.workers.backends._linear import RELAXED as TASKS

__all__ = ["HANDLES", "PARAMETERS", "STATUS", "TASKS", "build", "search", "size", "version"]

ENGINE = "CLP"
version, build = engine(ENGINE, counts=("iterations",))
