"""BOP, Google's solver for pure 0/1 programs, the predecessor of CP-SAT.

Documentation: ``bop_parameters.proto``, and OR-Tools' ``pywraplp``, through which it is used.
"""

from __future__ import annotations

from cagematch.workers.backends._linear import HANDLES, PARAMETERS, STATUS, TASKS, engine, enumerate_all, search, size

__all__ = ["HANDLES", "PARAMETERS", "STATUS", "TASKS", "build", "enumerate_all", "search", "size", "version"]

ENGINE = "BOP"
version, build = engine(ENGINE, counts=())  # it provides neither nodes nor iterations
