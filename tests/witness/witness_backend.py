"""A backend that takes WITNESS_S seconds and appends a line to the file WITNESS_LOG for each finished solve.

While the file WITNESS_HOLD exists, solves wait once the log has as many lines as that file states.
A puzzle whose first given is WITNESS_KILLS kills the worker instead, without going through the keeper.
"""

from __future__ import annotations

import os
import signal
import time
from pathlib import Path

from cagematch.problems.problem import Problem
from cagematch.workers.backends import propagation
from cagematch.workers.backends.contract import Found, Order
from cagematch.workers.backends.propagation import HANDLES, PARAMETERS, STATUS, size, version

__all__ = ["HANDLES", "PARAMETERS", "STATUS", "TASKS", "build", "search", "size", "version"]

TASKS = propagation.TASKS[:1]
Model = tuple[Problem, propagation.Model]


def build(problem: Problem, order: Order) -> Model:
    return problem, propagation.build(problem, order)


def search(model: Model, limit_s: float) -> Found:
    problem, inner = model
    log = os.environ.get("WITNESS_LOG")
    named = "".join(str(value) for _, value in problem.givens)
    if log and named in Path(os.environ["WITNESS_PUZZLES"]).read_text():  # skip the warm-up
        if named[0] == os.environ.get("WITNESS_KILLS"):
            os.kill(_parent(_parent(os.getpid())), signal.SIGKILL)
            time.sleep(60)
        while _is_held(Path(log)):
            time.sleep(0.01)
        time.sleep(float(os.environ.get("WITNESS_S", "0.1")))
        with Path(log).open("a") as file:
            file.write(named + "\n")
    return propagation.search(inner, limit_s)


def _is_held(log: Path) -> bool:
    try:
        return len(log.read_text().splitlines()) >= int(Path(os.environ["WITNESS_HOLD"]).read_text())
    except (KeyError, FileNotFoundError):
        return False


def _parent(pid: int) -> int:
    return int(Path(f"/proc/{pid}/stat").read_text().rpartition(")")[2].split()[1])
