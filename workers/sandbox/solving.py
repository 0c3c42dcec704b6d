"""One run: build, solve, translate. No Celery, no database, no limits but the backend's own.

The clock starts when the run has been read and stops when the answer is complete: build and search, no more.
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

DETAIL = 4096  # characters of a traceback that are kept
LOG = 65_536  # and of a solver's log
KEPT = 2_000  # solutions of an enumeration that are handed on to be verified


@dataclass(slots=True)
class Measured:
    """An answer with its times in seconds. ``detail`` holds words for people: a status, an error, a log.

    ``more``: solutions that an enumeration found besides ``assignment``, the first `KEPT` of ``count``.
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
    """What a backend is asked: about which problem, built how, and for what."""

    problem: Problem
    order: Order
    asked: Asked


def problem_of(kind: str, text: str) -> Problem:
    """The problem of a stored puzzle."""
    return KINDS[kind].problem(text)


def measure(
    configuration: Configuration, problem: Problem, seed: int, limit_s: float, asked: Asked = SOLVING
) -> Measured:
    """Run a configuration on a problem once. Whatever the backend does, short of dying, is an answer."""
    measured = Measured()
    if why := lacking(configuration.backend, problem.rules, asked.task):
        measured.stop, measured.detail = Stop.UNSUPPORTED, f"{configuration.backend} cannot {why}"
        return measured
    told = configuration.settings.get("seed", -1)
    order = Order(configuration.settings, seed if told == -1 else int(told), asked.task)
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
    taken = _Taken(2 if asked.task is Task.UNIQUE else asked.bound)
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
    """Take over what a search for one solution, or for the best one, has found."""
    if found.assignment is not None:
        measured.assignment = list(found.assignment)
    elif measured.answer is Answer.SOLUTION:
        # A relaxation with a fractional optimum: solved by its own lights, no answer to the puzzle.
        measured.answer = Answer.UNKNOWN
        measured.detail = "the solver's solution gives a variable no single value"
    if task is Task.REPAIR and measured.answer is Answer.SOLUTION:
        measured.complete = found.complete
        if not found.complete and measured.stop is Stop.FINISHED:
            measured.stop = Stop.TIMEOUT  # it has a repair, and ran out of time to prove that it is the least


class _Taken:
    """Counts the solutions that it is handed, keeps the first, and has enough at its bound."""

    def __init__(self, bound: int) -> None:
        self._bound = bound
        self.count = 0
        self.kept: list[list[int]] = []

    def __call__(self, assignment: Sequence[int] | None) -> bool:
        if assignment is None:
            raise ValueError("a solution gives a variable no single value")
        self.count += 1
        if len(self.kept) < KEPT:
            self.kept.append(list(assignment))
        return not self.enough

    @property
    def enough(self) -> bool:
        """Whether no more are wanted."""
        return self.count >= self._bound


def _enumerated(found: Found, taken: _Taken, measured: Measured) -> None:
    """Take over what an enumeration has found. Its status says why it stopped where neither bound nor end did."""
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


def lacking(name: str, rules: Rules, task: Task = Task.SOLVE) -> str:
    """What a backend cannot do of a task on such rules, as the end of a sentence; empty where it can."""
    backend = load(name)
    if task not in backend.TASKS:
        return f"do the task {task}"
    missing = {type(c).__name__ for c in rules.constraints if not isinstance(c, backend.HANDLES)}
    return "handle " + ", ".join(sorted(missing)) if missing else ""


@lru_cache(maxsize=256)
def _size(name: str, rules: Rules, settings: tuple[tuple[str, Any], ...]) -> Size:
    return load(name).size(rules, dict(settings))


def size(configuration: Configuration, rules: Rules) -> Size:
    """How big the rules are in a configuration."""
    return _size(configuration.backend, rules, tuple(configuration.settings.items()))
