"""SCIP, the constraint-integer solver of the Zuse Institute Berlin, as a MIP solver.

Documentation: the SCIP documentation at scipopt.org, and OR-Tools' ``pywraplp``, through which it is used.
"""

from __future__ import annotations

from cagematch.workers.backends._linear import HANDLES, PARAMETERS, STATUS, TASKS, engine, enumerate_all, search, size

__all__ = ["HANDLES", "PARAMETERS", "STATUS", "TASKS", "build", "enumerate_all", "search", "size", "version"]

ENGINE = "SCIP"
version, build = engine(ENGINE)
