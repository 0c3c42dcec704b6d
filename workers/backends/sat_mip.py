"""CP-SAT through the interface of a MIP solver, with the same 0/1 program as the other engines.

Documentation: ``sat_parameters.proto``, and OR-Tools' ``pywraplp``, through which it is used.
"""

from __future__ import annotations

from cagematch.workers.backends._linear import HANDLES, PARAMETERS, STATUS, TASKS, engine, enumerate_all, search, size

__all__ = ["HANDLES", "PARAMETERS", "STATUS", "TASKS", "build", "enumerate_all", "search", "size", "version"]

ENGINE = "SAT"
version, build = engine(ENGINE, counts=())  # the interface provides neither branches nor conflicts
