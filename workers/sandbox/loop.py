"""The solver process: receives runs, solves them one after another, sends answers.

A keeper starts it by exec and owns its limits. One process serves thousands of runs. Solvers may print
banners to standard output, so answers use a separate descriptor.
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

from cagematch.problems.outcome import Answer, Asked, Stop
from cagematch.problems.problem import Rules
from cagematch.workers.backends import load
from cagematch.workers.configurations import Configuration, configuration
from cagematch.workers.machine.processes import reap
from cagematch.workers.machine.speed import SpeedProbe
from cagematch.workers.machine.units import KIB_PER_MIB, NS_PER_S
from cagematch.workers.messages.frames import ANSWERS_FD, RUNS_FD, Frame, FrameReader, Kind
from cagematch.workers.messages.protocol import (
    RETIRED,
    BatchSettings,
    RunAnswer,
    RunRequest,
    decode_as,
    encode,
)
from cagematch.workers.sandbox.footprint import Memory, cpu_ns, give_back
from cagematch.workers.sandbox.shared_page import Page
from cagematch.workers.sandbox.solving import DETAIL, Measured, measure, problem_of, size

GROWTH, SLACK_KIB = 1.25, 16 * KIB_PER_MIB  # a baseline above growth × the first by more than the slack retires it
ZOMBIES = 64  # one run in so many collects children that no backend waited for
WARM_UP = ("sudoku", ".17.6.82.6.21.8.47.5.72.3.68.5.37.6.79.5.64.2.46.1.75.2.96.3.71.7.29.6.41.4.75.9.")
WARM_UP_LIMIT_S = 1.0
READ = 1 << 16  # bytes


class Sandbox:
    """Reads runs from one descriptor, writes answers to another, and shares a page with its keeper."""

    def __init__(self, page: Page) -> None:
        self._page = page
        self._settings: BatchSettings | None = None
        self._needs_warm_up = False
        self._memory = Memory()
        self._probe = SpeedProbe()
        self._first_kib = self._baseline_kib = self._done = 0
        self._pid = os.getpid()

    def serve(self) -> int:
        """Answer every run until the keeper closes the channel; return the exit code.

        Raises
        ------
        FrameError, MessageError
            The keeper sent something that is not a message.
        """
        frames = FrameReader()
        while data := os.read(RUNS_FD, READ):
            for frame in frames.feed(data):
                if frame.kind == Kind.SETTINGS:
                    self._settings = decode_as(BatchSettings, frame)
                    self._needs_warm_up = self._settings.warm_up
                elif self._has_grown():
                    return RETIRED
                elif self._settings:
                    self._run(self._settings, frame)
        return 0

    def _run(self, settings: BatchSettings, frame: Frame) -> None:
        _write(self._attempt(settings, decode_as(RunRequest, frame)))
        # Not earlier: a backend may return objects whose conversion is its own code.
        self._page.end()
        self._done += 1

    def _attempt(self, settings: BatchSettings, run: RunRequest) -> bytes:
        """Do a run and encode its answer, whatever the backend returns or raises."""
        try:
            chosen = _configuration(settings.configuration)
            _import(chosen.backend)
            if self._needs_warm_up:
                self._needs_warm_up = False
                self._warm_up(chosen, run.number)
            return encode(self._answer(chosen, settings, run))
        except Exception:  # raised by the backend's module, or by encoding its answer; the sandbox is unharmed
            report = traceback.format_exc()[-DETAIL:].encode(errors="replace").decode()
            return encode(RunAnswer(run.number, Answer.UNKNOWN, Stop.ERROR, 0.0, report))

    def _warm_up(self, chosen: Configuration, number: int) -> None:
        self._page.begin(number, time.monotonic_ns(), cpu_ns(), warm_up=True)
        measure(chosen, problem_of(*WARM_UP), 0, WARM_UP_LIMIT_S)
        self._end_copies()
        self._page.end()
        gc.collect()
        gc.freeze()
        before, self._baseline_kib = self._baseline_kib, self._memory.resident_kib()
        self._first_kib += max(0, self._baseline_kib - before)  # a library that was loaded is no leak

    def _answer(self, chosen: Configuration, settings: BatchSettings, run: RunRequest) -> RunAnswer:
        problem = problem_of(run.kind, run.text)
        asked = Asked(settings.task, settings.bound)
        limits = settings.limits
        self._memory.reset_peak()
        before_s = self._probe.before()
        used_ns = cpu_ns()
        self._page.begin(run.number, time.monotonic_ns(), used_ns, warm_up=False)
        measured = measure(chosen, problem, run.seed, limits.time_s, asked)
        self._end_copies()
        others_kib = self._page.others_kib(run.number)
        if others_kib or run.number % ZOMBIES == 0:
            reap()  # the CPU time of children that the backend did not wait for counts as well
        peak_kib = max(self._memory.peak_kib(), self._baseline_kib)  # the kernel's counters lag behind each other
        used_ns = cpu_ns() - used_ns
        reference_s = max(before_s, self._probe.after())
        _check(measured, problem.rules)
        if measured.stop is Stop.FINISHED and peak_kib > limits.memory_mib * KIB_PER_MIB:
            measured.stop, measured.detail = Stop.MEMOUT, f"over {limits.memory_mib} MiB"
        return RunAnswer(
            number=run.number,
            answer=measured.answer,
            stop=measured.stop,
            wall_s=measured.wall_s,
            detail=measured.detail.encode(errors="replace").decode(),
            assignment=measured.assignment,
            more=measured.more,
            count=measured.count,
            complete=measured.complete,
            build_s=measured.build_s,
            solve_s=measured.solve_s,
            counters=measured.counters,
            cpu_s=used_ns / NS_PER_S,
            reference_s=reference_s,
            baseline_mib=self._baseline_kib / KIB_PER_MIB,
            peak_mib=max(peak_kib, others_kib) / KIB_PER_MIB,
            size=_size(chosen, problem.rules),
        )

    def _end_copies(self) -> None:
        """End a copy of this process: a backend that forked returns in both."""
        if os.getpid() != self._pid:
            os._exit(0)

    def _has_grown(self) -> bool:
        """Store the baseline of the next run; return whether it is too far above the first one."""
        self._baseline_kib = self._memory.resident_kib()
        if self._done <= 1:
            self._first_kib = self._baseline_kib
        most_kib = max(GROWTH * self._first_kib, self._first_kib + SLACK_KIB)
        if self._baseline_kib > most_kib:
            give_back()
            self._baseline_kib = self._memory.resident_kib()
        return self._baseline_kib > most_kib


_configuration = cache(configuration)


@cache
def _import(backend: str) -> None:
    """Load a backend's library; where it is not installed, the run itself reports it."""
    with suppress(Exception):
        load(backend).version()


@cache
def _size(chosen: Configuration, rules: Rules) -> str:
    counted = size(chosen, rules)
    return json.dumps({"variables": dict(counted.variables), "constraints": dict(counted.constraints)})


def _check(measured: Measured, rules: Rules) -> None:
    """Check the types that a backend returned; a violation becomes an error that describes it."""
    try:
        measured.answer, measured.stop = Answer(measured.answer), Stop(measured.stop)
        measured.counters = {str(name): operator.index(count) for name, count in measured.counters.items()}
        if measured.assignment is not None:
            measured.assignment = _integers(measured.assignment, len(rules.domains))
        measured.more = [_integers(one, len(rules.domains)) for one in measured.more]
    except (TypeError, ValueError) as error:
        measured.answer, measured.stop = Answer.UNKNOWN, Stop.ERROR
        measured.assignment, measured.more, measured.counters = None, [], {}
        measured.detail = f"the backend violated its contract: {error}"


def _integers(values: list[int], expected: int) -> list[int]:
    if len(values) != expected:
        raise ValueError(f"expected {expected} values, one per variable, found {len(values)}")
    return list(map(operator.index, values))


def _write(data: bytes) -> None:
    while data:
        data = data[os.write(ANSWERS_FD, data) :]
