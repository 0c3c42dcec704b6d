"""One run: build, solve, translate. No Celery, no database, no limits but the backend's own.

The clock starts when the run has been read and stops when the answer is complete: build and search, no more.
"""

from __future__ import annotations

import time
import traceback
from dataclasses import dataclass, field
from functools import lru_cache
from typing import Any

from problems.errors import UnknownStatus
from problems.kinds import KINDS
from problems.outcome import Answer, Stop
from problems.problem import Problem, Rules
from workers.backends import load
from workers.backends.contract import Backend, Found, Meaning, Order, Size
from workers.configurations import Configuration

DETAIL = 4096  # characters of a traceback that are kept
LOG = 65_536  # and of a solver's log


@dataclass(slots=True)
class Measured:
    """An answer with its times in seconds. ``detail`` holds words for people: a status, an error, a log."""

    answer: Answer = Answer.UNKNOWN
    stop: Stop = Stop.ERROR
    assignment: list[int] | None = None
    build_s: float | None = None
    solve_s: float | None = None
    wall_s: float = 0.0
    counters: dict[str, int] = field(default_factory=dict)
    detail: str = ""


def problem_of(kind: str, text: str) -> Problem:
    """The problem of a stored puzzle."""
    return KINDS[kind].problem(text)


def measure(configuration: Configuration, problem: Problem, seed: int, limit_s: float) -> Measured:
    """Run a configuration on a problem once. Whatever the backend does, short of dying, is an answer."""
    backend = load(configuration.backend)
    measured = Measured()
    if lacking := _lacking(backend, problem.rules):
        measured.stop, measured.detail = Stop.UNSUPPORTED, f"{configuration.backend} cannot handle {lacking}"
        return measured
    asked = configuration.settings.get("seed", -1)
    order = Order(configuration.settings, seed if asked == -1 else int(asked))
    started = time.perf_counter()
    try:
        _run(configuration.backend, problem, order, limit_s, measured)
    except MemoryError:
        measured.stop, measured.detail = Stop.MEMOUT, "the solver could not allocate memory"
    except Exception as error:  # a backend may raise anything; it is stored with the run
        known = isinstance(error, UnknownStatus)
        measured.detail = str(error) if known else traceback.format_exc()[-DETAIL:]
    measured.wall_s = time.perf_counter() - started
    if measured.wall_s > limit_s and measured.stop is Stop.FINISHED:
        measured.stop = Stop.TIMEOUT
    return measured


def _run(name: str, problem: Problem, order: Order, limit_s: float, measured: Measured) -> None:
    backend = load(name)
    started = time.perf_counter()
    model = backend.build(problem, order)
    built = time.perf_counter()
    measured.build_s = built - started
    left = limit_s - measured.build_s
    if left <= 0:
        measured.stop = Stop.TIMEOUT
        return
    found = backend.search(model, left)
    measured.solve_s = time.perf_counter() - built
    measured.counters = dict(found.counters)
    meaning = _meaning(backend, name, found)
    measured.answer, measured.stop = meaning.answer, meaning.stop
    if meaning.stop is Stop.ERROR:
        measured.detail = f"{name} ended with status {found.native!r}"
    if found.assignment is not None:
        measured.assignment = list(found.assignment)
    elif meaning.answer is Answer.SOLUTION:
        # A relaxation with a fractional optimum: solved by its own lights, no answer to the puzzle.
        measured.answer = Answer.UNKNOWN
        measured.detail = "the solver's solution gives a variable no single value"
    if found.log:
        measured.detail = "\n".join(filter(None, (measured.detail, found.log[-LOG:])))


def _meaning(backend: Backend, name: str, found: Found) -> Meaning:
    try:
        return backend.STATUS[found.native]
    except KeyError:
        raise UnknownStatus(name, found.native) from None


def _lacking(backend: Backend, rules: Rules) -> str:
    missing = {type(c).__name__ for c in rules.constraints if not isinstance(c, backend.HANDLES)}
    return ", ".join(sorted(missing))


@lru_cache(maxsize=256)
def _size(name: str, rules: Rules, settings: tuple[tuple[str, Any], ...]) -> Size:
    return load(name).size(rules, dict(settings))


def size(configuration: Configuration, rules: Rules) -> Size:
    """How big the rules are in a configuration."""
    return _size(configuration.backend, rules, tuple(configuration.settings.items()))
