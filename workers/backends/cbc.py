"""CBC, the branch-and-cut solver of COIN-OR.

Documentation: the CBC User Guide, and OR-Tools' ``pywraplp``, through which it is used.
"""

from __future__ import annotations

from cagematch.workers.backends import _linear
from cagematch.workers.backends._cbc import in_time
from cagematch.workers.backends._linear import HANDLES, LATE, PARAMETERS, STATUS, TASKS, engine, enumerating, size

__all__ = ["HANDLES", "PARAMETERS", "STATUS", "TASKS", "build", "enumerate_all", "search", "size", "version"]

ENGINE = "CBC"
version, build = engine(ENGINE)
search = in_time(_linear.search, STATUS, LATE)
enumerate_all = enumerating(search)
