"""HiGHS, the linear and mixed-integer solver of the University of Edinburgh, as bundled with OR-Tools.

Documentation: highs.dev, and OR-Tools' ``pywraplp``, through which it is used.
"""

from __future__ import annotations

from cagematch.workers.backends._linear import HANDLES, PARAMETERS, STATUS, TASKS, engine, enumerate_all, search, size

__all__ = ["HANDLES", "PARAMETERS", "STATUS", "TASKS", "build", "enumerate_all", "search", "size", "version"]

ENGINE = "HIGHS"
version, build = engine(ENGINE)
