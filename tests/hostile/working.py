"""A worker in its own process, for tests that kill it."""

from __future__ import annotations

import os
import shutil
import subprocess
import sys
from pathlib import Path

from hostile.keepers import HARD, MARK, ROOT, environment, marked

WORKERS = ROOT / "workers"

# A worker prints its keeper's PID, leases cores, and submits runs that last longer than the worker.
WORKER = """
import sys, time
from itertools import count
from cagematch.workers.keeper.client import KeeperClient
from cagematch.workers.messages.protocol import BatchLimits, BatchSettings, RunRequest
text, threads, *configurations = sys.argv[1:]
keeper = KeeperClient()
print(keeper.pid, flush=True)
cores = keeper.lease(int(threads))
family = {"pulp-cbc": "pulp"}
for n, c in enumerate(configurations, 1):
    settings = BatchSettings(family.get(c, c.split(":")[0]), c, BatchLimits(30.0, 400))
    keeper.submit([RunRequest(n, "sudoku", text, 1)], settings)
print("leased", *cores, flush=True)
while True:
    for answer in keeper.answers(60):
        print(answer.number, answer.stop, flush=True)
"""


class Worker:
    """A worker process."""

    def __init__(self, folder: Path, threads: int, *configurations: str, text: str = HARD) -> None:
        self._environment = environment(folder)
        self.mark = self._environment[MARK]
        command = [sys.executable, "-P", "-c", WORKER, text, str(threads), *configurations]
        self.process = subprocess.Popen(command, env=os.environ | self._environment, stdout=subprocess.PIPE, text=True)
        self.keeper = int(self.line())

    def line(self) -> str:
        assert self.process.stdout
        return self.process.stdout.readline()

    def kill(self) -> None:
        self.process.kill()
        self.process.communicate()

    def left(self) -> list[int]:
        return marked(self.mark)


def changed(folder: Path, name: str, text: str) -> Path:
    """Return a copy of the package in which one module of the workers has another text."""
    root = folder / "copy"
    package = root / "src" / "cagematch"
    shutil.copytree(WORKERS, package / "workers", ignore=shutil.ignore_patterns("__pycache__"))
    (package / "workers" / name).write_text(text)
    shutil.copy(ROOT / "src" / "cagematch" / "__init__.py", package)
    (package / "problems").symlink_to(ROOT / "problems")
    (root / "tests").symlink_to(ROOT / "tests")
    return root
