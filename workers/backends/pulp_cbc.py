"""CBC through PuLP, which writes the model to an MPS file and starts a CBC process.

Documentation: PuLP's reference for ``PULP_CBC_CMD``.
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
    output = subprocess.run(command, capture_output=True, text=True, check=False).stdout.splitlines()
    cbc = next((line.split()[-1] for line in output if line.startswith("Version")), "unknown")
    return f"{cbc} (PuLP {pulp.VERSION})"


def _solve(program: Any, limit_s: float) -> None:
    import pulp

    with tempfile.TemporaryDirectory() as folder:
        solver = pulp.PULP_CBC_CMD(msg=False, threads=1, timeLimit=limit_s)
        solver.tmpDir = folder
        program.solve(solver)


search = in_time(searching(_solve), STATUS, LATE)
enumerate_all = enumerating(search)
