"""The solver process: reads runs, solves them one after another, writes answers.

A keeper starts it (by exec, with nothing of a solver loaded) and owns its limits. It is reused for thousands
of runs. Standard output belongs to the solvers, some of which print banners; the answers go out through a
descriptor of their own.
"""

from __future__ import annotations

import gc
import json
import os
import resource
import signal
import sys
import time
from dataclasses import asdict
from functools import cache

from workers.configurations import Configuration, configuration
from workers.page import Page
from workers.processes import PAGE_KIB, PR_SET_PDEATHSIG, prctl
from workers.solving import measure, problem_of, size
from workers.wire import ANSWERS_FD, PAGE_FD, RUNS_FD, Message, encode

MIB = 1024
GROWTH, SLACK_KIB = 1.25, 16 * MIB  # a baseline above growth × the first, by more than the slack, retires it
RETIRED = 75  # exit code: replace me, no run is to blame
WARM_UP = ("sudoku", ".17.6.82.6.21.8.47.5.72.3.68.5.37.6.79.5.64.2.46.1.75.2.96.3.71.7.29.6.41.4.75.9.")
WARM_UP_LIMIT_S = 1.0


class Sandbox:
    """Reads from one descriptor, writes to another, shares a page with its keeper."""

    def __init__(self, page: Page) -> None:
        self._page = page
        self._first_kib = 0

    def serve(self) -> int:
        """Answer every run; return the exit code."""
        with open(RUNS_FD, "rb", closefd=False) as runs:
            for line in runs:
                run = json.loads(line)
                chosen = _configuration(run["configuration"])
                if run["warm"]:
                    self._warm_up(chosen, run["n"])
                os.write(ANSWERS_FD, encode(self._answer(chosen, run)))
                if self._grown():
                    return RETIRED
        return 0

    def _warm_up(self, chosen: Configuration, number: int) -> None:
        self._page.begin(number, time.monotonic_ns(), _cpu_ns(), warm_up=True)
        measure(chosen, problem_of(*WARM_UP), 0, WARM_UP_LIMIT_S)
        self._page.end()
        gc.collect()
        gc.freeze()

    def _answer(self, chosen: Configuration, run: Message) -> Message:
        problem = problem_of(run["kind"], run["text"])
        _reset_peak()
        baseline = _resident_kib()
        cpu = _cpu_ns()
        self._page.begin(run["n"], time.monotonic_ns(), cpu, warm_up=False)
        measured = measure(chosen, problem, run["seed"], run["limit_s"])
        peak = max(_peak_kib(), self._page.others_kib(run["n"]))
        used = _cpu_ns() - cpu
        self._page.end()
        return asdict(measured) | {
            "n": run["n"],
            "cpu_s": used / 1e9,
            "baseline_mib": baseline / MIB,
            "peak_mib": peak / MIB,
            "size": _size(chosen, problem.rules),
        }

    def _grown(self) -> bool:
        resident = _resident_kib()
        self._first_kib = self._first_kib or resident
        return resident > max(GROWTH * self._first_kib, self._first_kib + SLACK_KIB)


_configuration = cache(configuration)


@cache
def _size(chosen: Configuration, rules: object) -> str:
    counted = size(chosen, rules)
    return json.dumps({"variables": dict(counted.variables), "constraints": dict(counted.constraints)})


def _cpu_ns() -> int:
    """User and system time of this process and the children it has waited for."""
    own, others = resource.getrusage(resource.RUSAGE_SELF), resource.getrusage(resource.RUSAGE_CHILDREN)
    return int((own.ru_utime + own.ru_stime + others.ru_utime + others.ru_stime) * 1e9)


def _reset_peak() -> None:
    """Let the kernel forget the peak of resident memory (proc(5), clear_refs, value 5)."""
    with open("/proc/self/clear_refs", "wb", buffering=0) as file:
        file.write(b"5")


def _peak_kib() -> int:
    return resource.getrusage(resource.RUSAGE_SELF).ru_maxrss


def _resident_kib() -> int:
    with open("/proc/self/statm", "rb", buffering=0) as file:
        return int(file.read().split()[1]) * PAGE_KIB


def main() -> int:
    """Run until the keeper closes the runs."""
    prctl(PR_SET_PDEATHSIG, signal.SIGKILL)  # the keeper has one thread, so this follows its life
    if os.getppid() != int(sys.argv[1]):
        return 1
    for fd in (RUNS_FD, ANSWERS_FD, PAGE_FD):
        os.set_inheritable(fd, False)
    return Sandbox(Page(PAGE_FD)).serve()


if __name__ == "__main__":
    sys.exit(main())
