"""One run: build the model, solve it, translate the answer. No Celery, no database, no limit except the backend's own.

The clock starts when the run has been received and stops when the answer is complete: it covers build and search only.
"""

from __future__ import annotations

import time
import traceback
from collections.abc import Sequence
from dataclasses import dataclass, field
from functools import lru_cache
from typing import Any, cast

from cagematch.problems.errors import UnknownStatus
from cagematch.problems.kinds import KINDS
from cagematch.problems.outcome import SOLVING, Answer, Asked, Stop, Task
from cagematch.problems.problem import Problem, Rules
from cagematch.workers.backends import load
from cagematch.workers.backends.contract import Backend, Enumerating, Found, Meaning, Order, Size
from cagematch.workers.configurations import Configuration

DETAIL = 4096  # characters of a traceback that are stored
LOG = 65_536  # characters of a solver's log that are stored
KEPT = 2_000  # solutions of an enumeration that are sent for verification


@dataclass(slots=True)
class Measured:
    """An answer with its times in seconds. `workers.messages.protocol.RunAnswer` describes the fields.

    ``more`` holds the solutions of an enumeration after the first, at most `KEPT` in all.
    """

    answer: Answer = Answer.UNKNOWN
    stop: Stop = Stop.ERROR
    assignment: list[int] | None = None
    more: list[list[int]] = field(default_factory=list)
    count: int | None = None
    complete: bool | None = None
    build_s: float | None = None
    solve_s: float | None = None
    wall_s: float = 0.0
    counters: dict[str, int] = field(default_factory=dict)
    detail: str = ""


@dataclass(frozen=True, slots=True)
class Question:
    """What a backend gets: the problem, how to build its model, and the task."""

    problem: Problem
    order: Order
    asked: Asked


def problem_of(kind: str, text: str) -> Problem:
    """The problem of a stored puzzle."""
    return KINDS[kind].problem(text)


def measure(
    configuration: Configuration, problem: Problem, seed: int, limit_s: float, asked: Asked = SOLVING
) -> Measured:
    """Run a configuration on a problem once.

    Parameters
    ----------
    seed
        Used where the configuration sets none.
    limit_s
        Wall time for build and search together.

    Returns
    -------
    Measured
        Also for a backend that raises or does not support the task: the result is an answer unless the process ends.
    """
    measured = Measured()
    if why := unsupported(configuration.backend, problem.rules, asked.task):
        measured.stop, measured.detail = Stop.UNSUPPORTED, f"{configuration.backend} does not support {why}"
        return measured
    seed_setting = configuration.settings.get("seed", -1)
    order = Order(configuration.settings, seed if seed_setting == -1 else int(seed_setting), asked.task)
    started = time.perf_counter()
    try:
        _run(configuration.backend, Question(problem, order, asked), limit_s, measured)
    except MemoryError:
        measured.stop, measured.detail = Stop.MEMOUT, "the solver could not allocate memory"
    except Exception as error:  # a backend may raise anything; it is stored with the run
        known = isinstance(error, UnknownStatus)
        measured.detail = str(error) if known else traceback.format_exc()[-DETAIL:]
    measured.wall_s = time.perf_counter() - started
    if measured.wall_s > limit_s and measured.stop is Stop.FINISHED:
        measured.stop = Stop.TIMEOUT
    return measured


def _run(name: str, question: Question, limit_s: float, measured: Measured) -> None:
    backend, asked = load(name), question.asked
    started = time.perf_counter()
    model = backend.build(question.problem, question.order)
    built = time.perf_counter()
    measured.build_s = built - started
    left = limit_s - measured.build_s
    if left <= 0:
        measured.stop = Stop.TIMEOUT
        return
    taken = _Solutions(2 if asked.task is Task.UNIQUE else asked.bound)
    if asked.enumerates:
        found = cast("Enumerating", backend).enumerate_all(model, left, taken)
    else:
        found = backend.search(model, left)
    measured.solve_s = time.perf_counter() - built
    measured.counters = dict(found.counters)
    meaning = _meaning(backend, name, found)
    measured.answer, measured.stop = meaning.answer, meaning.stop
    if meaning.stop is Stop.ERROR:
        measured.detail = f"{name} ended with status {found.native!r}"
    if asked.enumerates:
        _enumerated(found, taken, measured)
    else:
        _searched(found, asked.task, measured)
    if found.log:
        measured.detail = "\n".join(filter(None, (measured.detail, found.log[-LOG:])))


def _searched(found: Found, task: Task, measured: Measured) -> None:
    """Store the result of a search for one solution or for the best one."""
    if found.assignment is not None:
        measured.assignment = list(found.assignment)
    elif measured.answer is Answer.SOLUTION:
        # A relaxation with a fractional optimum: optimal for the solver, but no answer to the puzzle.
        measured.answer = Answer.UNKNOWN
        measured.detail = "the solution does not give each variable a single value"
    if task is Task.REPAIR and measured.answer is Answer.SOLUTION:
        measured.complete = found.complete
        if not found.complete and measured.stop is Stop.FINISHED:
            measured.stop = Stop.TIMEOUT  # a repair was found, but not proved to be minimal in time


class _Solutions:
    """Counts solutions up to a bound and keeps the first ones."""

    def __init__(self, bound: int) -> None:
        self._bound = bound
        self.count = 0
        self.kept: list[list[int]] = []

    def __call__(self, assignment: Sequence[int] | None) -> bool:
        if assignment is None:
            raise ValueError("a solution does not give each variable a single value")
        self.count += 1
        if len(self.kept) < KEPT:
            self.kept.append(list(assignment))
        return not self.enough

    @property
    def enough(self) -> bool:
        """Whether the bound is reached."""
        return self.count >= self._bound


def _enumerated(found: Found, taken: _Solutions, measured: Measured) -> None:
    """Store the result of an enumeration. Its status matters where it reached neither the bound nor the end."""
    measured.count, measured.complete = taken.count, found.complete
    measured.assignment, measured.more = (taken.kept[0] if taken.kept else None), taken.kept[1:]
    measured.answer = Answer.SOLUTION if taken.count else Answer.NONE if found.complete else Answer.UNKNOWN
    if found.complete or taken.enough:
        measured.stop = Stop.FINISHED
    elif measured.stop is Stop.FINISHED:
        measured.stop, measured.detail = Stop.ERROR, f"the enumeration ended early, with status {found.native!r}"


def _meaning(backend: Backend, name: str, found: Found) -> Meaning:
    try:
        return backend.STATUS[found.native]
    except KeyError:
        raise UnknownStatus(name, found.native) from None


def unsupported(name: str, rules: Rules, task: Task = Task.SOLVE) -> str:
    """Name what a backend does not support: the task, or constraints of the rules; empty if it supports both."""
    backend = load(name)
    if task not in backend.TASKS:
        return f"the task {task}"
    missing = {type(c).__name__ for c in rules.constraints if not isinstance(c, backend.HANDLES)}
    return ", ".join(sorted(missing))


@lru_cache(maxsize=256)
def _size(name: str, rules: Rules, settings: tuple[tuple[str, Any], ...]) -> Size:
    return load(name).size(rules, dict(settings))


def size(configuration: Configuration, rules: Rules) -> Size:
    """The size of the model of the rules in a configuration."""
    return _size(configuration.backend, rules, tuple(configuration.settings.items()))
