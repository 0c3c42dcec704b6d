"""CBC, the branch-and-cut solver of COIN-OR.

Documentation: the CBC User Guide, and OR-Tools' ``pywraplp``, through which it is used.
"""

from __future__ import annotations

from workers.backends._linear import HANDLES, PARAMETERS, STATUS, TASKS, engine, enumerate_all, search, size

__all__ = ["HANDLES", "PARAMETERS", "STATUS", "TASKS", "build", "enumerate_all", "search", "size", "version"]

ENGINE = "CBC"
version, build = engine(ENGINE)
