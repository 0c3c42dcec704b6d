"""SCIP through PuLP and PySCIPOpt.

Documentation: PuLP's reference of ``SCIP_PY``.
"""

from __future__ import annotations

from workers.backends import _pulp
from workers.backends._pulp import HANDLES, STATUS, TASKS, Model, build, size
from workers.backends.contract import Found, Parameter

__all__ = ["HANDLES", "PARAMETERS", "STATUS", "TASKS", "build", "search", "size", "version"]

PARAMETERS: dict[str, Parameter] = {}


def version() -> str:
    from importlib.metadata import version as of

    import pulp
    import pyscipopt

    return f"{of(pyscipopt.__name__)} (PuLP {pulp.VERSION})"


def search(model: Model, limit_s: float) -> Found:
    import pulp

    return _pulp.search(model, pulp.SCIP_PY(msg=False, timeLimit=limit_s))
