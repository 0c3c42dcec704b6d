"""Starting: ``scheduler --help`` compared with a Python that does nothing."""

from __future__ import annotations

import subprocess
import sys
import time
from pathlib import Path

from benchmarks.pipeline import SCHEDULER, environment

HELP = [*SCHEDULER, "--help"]
NOTHING = [sys.executable, "-c", "pass"]


def rate(command: list[str], seconds: float) -> float:
    """Return starts per second, one after another.

    Raises
    ------
    CalledProcessError
        The command fails.
    """
    settings = environment(str(Path.cwd()), {})
    starts, began = 0, time.perf_counter()
    while time.perf_counter() - began < seconds or not starts:
        subprocess.run(command, env=settings, check=True, stdout=subprocess.DEVNULL)
        starts += 1
    return starts / (time.perf_counter() - began)
