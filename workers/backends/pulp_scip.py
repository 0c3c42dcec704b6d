"""SCIP through PuLP and PySCIPOpt.

Documentation: PuLP's reference for ``SCIP_PY``.
"""

from __future__ import annotations

from typing import Any

from cagematch.workers.backends._pulp import HANDLES, PARAMETERS, STATUS, TASKS, build, enumerating, searching, size

__all__ = ["HANDLES", "PARAMETERS", "STATUS", "TASKS", "build", "enumerate_all", "search", "size", "version"]


def version() -> str:
    from importlib.metadata import version as of

    import pulp
    import pyscipopt

    return f"{of(pyscipopt.__name__)} (PuLP {pulp.VERSION})"


def _solve(program: Any, limit_s: float) -> None:
    import pulp

    program.solve(pulp.SCIP_PY(msg=False, timeLimit=limit_s))


search = searching(_solve)
enumerate_all = enumerating(search)
