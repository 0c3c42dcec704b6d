"""What a backend is: a module with the names below, and the small values that go in and out.

A backend turns a `Problem` into its library's model (``build``) and runs it (``search``). It knows no puzzle,
no clock, no database. Timing, limits, verification and the meaning of "over the limit" are policy, and
stand once, in `cagematch.workers.sandbox.solving`.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, field, replace
from typing import Any, Protocol

from cagematch.problems.outcome import Answer, Stop, Task
from cagematch.problems.problem import Problem, Rules

Settings = Mapping[str, str | int]
SEED_MOST = 2**31 - 1  # solvers keep a seed, and most other numbers, in 32 bits


@dataclass(frozen=True, slots=True)
class Parameter:
    """A parameter that users may set: its default, and the words it takes, the least and most integer, or a pattern."""

    default: str | int
    choices: tuple[str, ...] = ()
    pattern: str = ""
    least: int = 0
    most: int = SEED_MOST
    help: str = ""


# Of backends that tell sums in either way; `cagematch.problems.sets.posted` does what it says.
CAGES = Parameter("sum", ("sum", "sets"), help="a cage as an equation, or as the sets of values that add up to it")


@dataclass(frozen=True, slots=True)
class Found:
    """What a search came back with.

    ``native`` is the solver's own status, a key of the backend's ``STATUS``. ``assignment`` has one value a
    variable. ``counters`` are the solver's own (branches, conflicts, nodes, …). ``log`` is what it printed, where
    that was asked for. ``complete``: of an enumeration, that there are no more solutions; of a repair, that the solver
    has proved that no fewer changes do.
    """

    native: object
    assignment: Sequence[int] | None = None
    counters: Mapping[str, int] = field(default_factory=dict)
    log: str = ""
    complete: bool = False


# What an enumeration hands each solution to. It answers whether to go on; None, which gives a variable no single value,
# it takes for an error.
Take = Callable[[Sequence[int] | None], bool]


def first(enumerate_all: Callable[[Any, float, Take], Found], model: Any, limit_s: float) -> Found:
    """Search by an enumeration that is left at the first solution, for a backend with which that is all the same."""
    found: list[Sequence[int] | None] = []

    def take(assignment: Sequence[int] | None) -> bool:
        found.append(assignment)
        return False

    ended = enumerate_all(model, limit_s, take)
    return replace(ended, assignment=found[0] if found else None)


def last(enumerate_all: Callable[[Any, float, Take], Found], model: Any, limit_s: float, native: object) -> Found:
    """Mend by an enumeration in which each solution is better than the one before; ``native`` tells of the last."""
    best: list[Sequence[int] | None] = []

    def take(assignment: Sequence[int] | None) -> bool:
        best[:] = [assignment]
        return True

    ended = enumerate_all(model, limit_s, take)
    return replace(ended, native=native, assignment=best[0]) if best else ended


@dataclass(frozen=True, slots=True)
class Meaning:
    """What a native status says: the answer, and why the solver stopped."""

    answer: Answer
    stop: Stop = Stop.FINISHED


SOLVED = Meaning(Answer.SOLUTION)
REFUTED = Meaning(Answer.NONE)
GAVE_UP = Meaning(Answer.UNKNOWN)
OUT_OF_TIME = Meaning(Answer.UNKNOWN, Stop.TIMEOUT)
FAILED = Meaning(Answer.UNKNOWN, Stop.ERROR)


@dataclass(frozen=True, slots=True)
class Size:
    """How big the problem is in the backend: how many variables and constraints, by type (and role)."""

    variables: Mapping[str, int]
    constraints: Mapping[str, int]


@dataclass(frozen=True, slots=True)
class Order:
    """What a build is told besides the problem: the settings, the seed, and the task that the model is for.

    Of `Task.REPAIR` the model leaves the givens open and has an objective: as few of them changed as can be.
    """

    settings: Settings
    seed: int
    task: Task = Task.SOLVE


class Backend(Protocol):
    """A backend's module.

    It may have one function more, ``parameter(name)``: a `Parameter` that its library names and ``PARAMETERS`` does not
    list, or None. One that does `Task.UNIQUE` and `Task.COUNT` is `Enumerating`, too.
    """

    HANDLES: tuple[type, ...]
    TASKS: tuple[Task, ...]
    STATUS: Mapping[Any, Meaning]
    PARAMETERS: Mapping[str, Parameter]

    def version(self) -> str:
        """The version, as the library tells it."""

    def size(self, rules: Rules, settings: Settings) -> Size:
        """Count what ``build`` will make of the rules; puzzle by puzzle it is the same."""

    def build(self, problem: Problem, order: Order) -> Any:
        """Make the library's model. Timed as ``build_s``."""

    def search(self, model: Any, limit_s: float) -> Found:
        """Solve the model within ``limit_s`` seconds. Timed as ``solve_s``."""


class Enumerating(Protocol):
    """What the module of a backend has besides where its ``TASKS`` have `Task.UNIQUE` and `Task.COUNT`."""

    def enumerate_all(self, model: Any, limit_s: float, take: Take) -> Found:
        """Hand every solution to ``take``, each once, until it says no. Timed as ``solve_s``.

        What is found tells whether those were all (``complete``), and of its status the reason to stop counts.
        """
