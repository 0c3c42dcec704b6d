"""CBC through PuLP: the model goes out as an MPS file to a CBC process of its own.

Documentation: PuLP's reference of ``PULP_CBC_CMD``.
"""

from __future__ import annotations

import tempfile
from typing import Any

from cagematch.workers.backends._cbc import in_time
from cagematch.workers.backends._pulp import (
    HANDLES,
    LATE,
    PARAMETERS,
    STATUS,
    TASKS,
    build,
    enumerating,
    searching,
    size,
)

__all__ = ["HANDLES", "PARAMETERS", "STATUS", "TASKS", "build", "enumerate_all", "search", "size", "version"]


def version() -> str:
    import subprocess

    import pulp

    command = [pulp.PULP_CBC_CMD().path, "-quit"]
    told = subprocess.run(command, capture_output=True, text=True, check=False).stdout.splitlines()
    cbc = next((line.split()[-1] for line in told if line.startswith("Version")), "unknown")
    return f"{cbc} (PuLP {pulp.VERSION})"


def _solve(program: Any, limit_s: float) -> None:
    import pulp

    with tempfile.TemporaryDirectory() as folder:
        solver = pulp.PULP_CBC_CMD(msg=False, threads=1, timeLimit=limit_s)
        solver.tmpDir = folder
        program.solve(solver)


search = in_time(searching(_solve), STATUS, LATE)
enumerate_all = enumerating(search)
