"""CBC through PuLP: the model goes out as an MPS file to a CBC process of its own.

Documentation: PuLP's reference of ``PULP_CBC_CMD``.
"""

from __future__ import annotations

import tempfile

from workers.backends import _pulp
from workers.backends._pulp import HANDLES, STATUS, TASKS, Model, build, size
from workers.backends.contract import Found, Parameter

__all__ = ["HANDLES", "PARAMETERS", "STATUS", "TASKS", "build", "search", "size", "version"]

PARAMETERS: dict[str, Parameter] = {}


def version() -> str:
    import subprocess

    import pulp

    command = [pulp.PULP_CBC_CMD().path, "-quit"]
    told = subprocess.run(command, capture_output=True, text=True, check=False).stdout.splitlines()
    cbc = next((line.split()[-1] for line in told if line.startswith("Version")), "unknown")
    return f"{cbc} (PuLP {pulp.VERSION})"


def search(model: Model, limit_s: float) -> Found:
    import pulp

    with tempfile.TemporaryDirectory() as folder:
        solver = pulp.PULP_CBC_CMD(msg=False, threads=1, timeLimit=limit_s)
        solver.tmpDir = folder
        return _pulp.search(model, solver)
