"""The solver process: reads runs, solves them one after another, writes answers.

A keeper starts it (by exec, with nothing of a solver loaded) and owns its limits. It is reused for thousands
of runs. Standard output belongs to the solvers, some of which print banners; the answers go out through a
descriptor of their own.
"""

from __future__ import annotations

import gc
import json
import operator
import os
import time
import traceback
from contextlib import suppress
from functools import cache

from cagematch.problems.outcome import Answer, Asked, Stop, Task
from cagematch.problems.problem import Rules
from cagematch.workers.backends import load
from cagematch.workers.configurations import Configuration, configuration
from cagematch.workers.machine.processes import reap
from cagematch.workers.machine.speed import SpeedProbe
from cagematch.workers.messages.framing import ANSWERS_FD, RETIRED, RUNS_FD, Message, encode
from cagematch.workers.sandbox.footprint import Memory, cpu_ns, give_back
from cagematch.workers.sandbox.shared_page import Page
from cagematch.workers.sandbox.solving import DETAIL, Measured, measure, problem_of, size

MIB = 1024
GROWTH, SLACK_KIB = 1.25, 16 * MIB  # a baseline above growth × the first, by more than the slack, retires it
ZOMBIES = 64  # one run in so many looks for children that no backend waited for
WARM_UP = ("sudoku", ".17.6.82.6.21.8.47.5.72.3.68.5.37.6.79.5.64.2.46.1.75.2.96.3.71.7.29.6.41.4.75.9.")
WARM_UP_LIMIT_S = 1.0


class Sandbox:
    """Reads from one descriptor, writes to another, shares a page with its keeper."""

    def __init__(self, page: Page) -> None:
        self._page = page
        self._memory = Memory()
        self._looks = SpeedProbe()
        self._first_kib = self._baseline_kib = self._done = 0
        self._pid = os.getpid()

    def serve(self) -> int:
        """Answer every run; return the exit code."""
        with open(RUNS_FD, "rb", closefd=False) as runs:
            for line in runs:
                if self._grown():
                    return RETIRED
                _write(self._attempt(json.loads(line)))
                # Only now: encoding is the backend's doing too where it returns objects of its own.
                self._page.end()
                self._done += 1
        return 0

    def _attempt(self, run: Message) -> bytes:
        """Do a run and encode its answer, whatever a backend comes with."""
        try:
            chosen = _configuration(run["configuration"])
            _import(chosen.backend)
            if run["warm"]:
                self._warm_up(chosen, run["n"])
            return encode(self._answer(chosen, run))
        except Exception:  # of a backend's module, or of its answer; the sandbox is as good as before
            told = traceback.format_exc()[-DETAIL:].encode(errors="replace").decode()
            return encode({"n": run["n"], "answer": "unknown", "stop": "error", "wall_s": 0.0, "detail": told})

    def _warm_up(self, chosen: Configuration, number: int) -> None:
        self._page.begin(number, time.monotonic_ns(), cpu_ns(), warm_up=True)
        measure(chosen, problem_of(*WARM_UP), 0, WARM_UP_LIMIT_S)
        self._end_copies()
        self._page.end()
        gc.collect()
        gc.freeze()
        before, self._baseline_kib = self._baseline_kib, self._memory.resident_kib()
        self._first_kib += max(0, self._baseline_kib - before)  # what was loaded has not leaked

    def _answer(self, chosen: Configuration, run: Message) -> Message:
        problem = problem_of(run["kind"], run["text"])
        asked = Asked(Task(run["task"]), run["bound"])
        self._memory.reset_peak()
        before_s = self._looks.before()
        used = cpu_ns()
        self._page.begin(run["n"], time.monotonic_ns(), used, warm_up=False)
        measured = measure(chosen, problem, run["seed"], run["limit_s"], asked)
        self._end_copies()
        others = self._page.others_kib(run["n"])
        if others or run["n"] % ZOMBIES == 0:
            reap()  # the CPU time of children that the backend did not wait for counts too
        peak = max(self._memory.peak_kib(), self._baseline_kib)  # the kernel's counters lag behind each other
        used = cpu_ns() - used
        reference_s = max(before_s, self._looks.after())
        _check(measured, problem.rules)
        if measured.stop is Stop.FINISHED and peak > run["memory_mib"] * MIB:
            measured.stop, measured.detail = Stop.MEMOUT, f"over {run['memory_mib']} MiB"
        # The number stands first: the keeper knows the answer by it.
        answer = {
            "n": run["n"],
            "answer": measured.answer,
            "stop": measured.stop,
            "assignment": measured.assignment,
            "build_s": measured.build_s,
            "solve_s": measured.solve_s,
            "wall_s": measured.wall_s,
            "counters": measured.counters,
            "detail": measured.detail.encode(errors="replace").decode(),
            "cpu_s": used / 1e9,
            "reference_s": reference_s,
            "baseline_mib": self._baseline_kib / MIB,
            "peak_mib": max(peak, others) / MIB,
            "size": _size(chosen, problem.rules),
        }
        return answer | _beyond(measured) if asked.task is not Task.SOLVE else answer

    def _end_copies(self) -> None:
        """A backend that forked returns twice; its copy of this process has no business here."""
        if os.getpid() != self._pid:
            os._exit(0)

    def _grown(self) -> bool:
        """Note the baseline of the run to come; whether it is too far above the first one."""
        self._baseline_kib = self._memory.resident_kib()
        if self._done <= 1:
            self._first_kib = self._baseline_kib
        most = max(GROWTH * self._first_kib, self._first_kib + SLACK_KIB)
        if self._baseline_kib > most:
            give_back()
            self._baseline_kib = self._memory.resident_kib()
        return self._baseline_kib > most


_configuration = cache(configuration)


@cache
def _import(backend: str) -> None:
    """Load a backend's library; where it is not installed, the run itself will say so."""
    with suppress(Exception):
        load(backend).version()


@cache
def _size(chosen: Configuration, rules: Rules) -> str:
    counted = size(chosen, rules)
    return json.dumps({"variables": dict(counted.variables), "constraints": dict(counted.constraints)})


def _check(measured: Measured, rules: Rules) -> None:
    """Hold a backend to its contract; what breaks it is an error that says how."""
    try:
        measured.answer, measured.stop = Answer(measured.answer), Stop(measured.stop)
        measured.counters = {str(name): operator.index(count) for name, count in measured.counters.items()}
        if measured.assignment is not None:
            measured.assignment = _integers(measured.assignment, len(rules.domains))
        measured.more = [_integers(one, len(rules.domains)) for one in measured.more]
    except (TypeError, ValueError) as error:
        measured.answer, measured.stop = Answer.UNKNOWN, Stop.ERROR
        measured.assignment, measured.more, measured.counters = None, [], {}
        measured.detail = f"the backend broke its contract: {error}"


def _beyond(measured: Measured) -> Message:
    """What tasks other than solving come to besides."""
    return {"more": measured.more, "count": measured.count, "complete": measured.complete}


def _integers(values: list[int], expected: int) -> list[int]:
    if len(values) != expected:
        raise ValueError(f"expected {expected} values, one a variable, found {len(values)}")
    return list(map(operator.index, values))


def _write(data: bytes) -> None:
    while data:
        data = data[os.write(ANSWERS_FD, data) :]
