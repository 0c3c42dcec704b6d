"""The contract of a backend: the names that its module provides, and the values that go in and out.

A backend translates a `Problem` into a model of its library (``build``) and solves that model (``search``). Kinds of
puzzle, time and memory limits, verification and storage are handled elsewhere, once for all backends:
`cagematch.workers.sandbox.solving` calls the functions of one run, `cagematch.workers.keeper` enforces the limits.

Processes and threads
    Runs are executed in a *sandbox*: a process that executes one run at a time, on its main thread. ``version``,
    ``parameter`` and ``size`` are also called in the scheduler, ``version`` in workers, and ``scheduler verify --by``
    executes its few runs in its own process. Calls of a process never overlap, so a module needs no locks.
    A backend may start threads and child processes. They belong to the run: their CPU time and memory count, and they
    should have ended when the function returns. The sandbox is pinned to as many cores as the configuration has
    threads: its parameter ``workers``, or 1.

Reuse
    A sandbox executes thousands of runs, of all backends of one family and of any configuration, kind and task. It is
    replaced after a timeout, a crash or an exceeded memory limit, when its own memory has grown, and when the slot
    needs sandboxes of other families. A new sandbox starts without any state. Before the first measured run of
    a configuration it solves one Sudoku as a warm-up, with a limit of 1 s and `Task.SOLVE`. That result is discarded.

State between runs
    A module may keep what depends on the `Rules` and the settings alone, such as an encoding or a model without clues.
    `Rules` are hashable by identity and shared by all puzzles of a shape, so ``functools.lru_cache`` fits; give it a
    ``maxsize``. Solver objects, clues, learnt clauses and random states must not outlive a run: the result
    of a run may not depend on the runs before it.

Clock
    ``build_s`` is the wall time of ``build``. ``solve_s`` is the wall time of ``search`` or ``enumerate_all``, which
    includes reading the solution. Imports, the warm-up, ``size`` and verification are not timed.
    ``build`` and the search share the time limit of the run. The keeper kills the sandbox 0.5 s after the limit.

Exceptions
    ``build``, ``search`` and ``enumerate_all`` may raise anything. `MemoryError` is stored as ``memout``; any other
    exception is stored as ``error`` with its traceback. The sandbox continues with the next run.
    A backend that ends the process (`sys.exit`, a signal) is stored as ``crashed``.
    A search without a solution, or one that reaches its limit, does not raise: it returns a `Found` with that status.

Output
    Standard output is discarded. The last 4 KiB of standard error are stored with a run that crashes.

Import
    Importing the module must not import the solver's library. Do that inside the functions, so that the module can be
    inspected where the library is missing.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, field, replace
from typing import Any, Protocol

from cagematch.problems.outcome import Answer, Stop, Task
from cagematch.problems.problem import Problem, Rules

Settings = Mapping[str, str | int]
"""The value of each parameter of a configuration, by its name."""

SEED_MOST = 2**31 - 1
"""The largest seed, and the default upper bound of an integer parameter: solvers store both in 32 bits."""


@dataclass(frozen=True, slots=True)
class Parameter:
    """A parameter that users may set, as in ``cp-sat:workers=1``.

    A value is one of ``choices``; or it matches ``pattern``; or it is an integer from ``least`` to ``most``.

    Parameters
    ----------
    default
        The value of a configuration that does not set the parameter. Its type is that of every value.
    choices
        The allowed words. Case is ignored in what users type. A sweep (``name=*``) takes each of them.
    pattern
        A regular expression that a value matches as a whole.
    least, most
        Bounds of an integer, both inclusive.
    help
        A description for ``scheduler solvers``, without a full stop.
    """

    default: str | int
    choices: tuple[str, ...] = ()
    pattern: str = ""
    least: int = 0
    most: int = SEED_MOST
    help: str = ""


# The parameter of backends that offer both formulations of a cage; they pass its value to `problems.sets.posted`.
CAGES = Parameter("sum", ("sum", "sets"), help="a cage as an equation, or as the sets of values with its sum")


@dataclass(frozen=True, slots=True)
class Found:
    """The result of a search.

    Parameters
    ----------
    native
        The solver's own status: a key of the backend's ``STATUS``. Any other value is stored as an error.
    assignment
        One integer per variable of the rules, in their order. None without a solution, and where a solution gives a
        variable no single value (the fractional optimum of a relaxation). Ignored after an enumeration.
    counters
        The solver's own statistics as integers: branches, conflicts, nodes, …
    log
        What the solver printed, if the configuration requests it. The last 64 KiB are stored with the run.
    complete
        After an enumeration: there are no further solutions. After a repair: the solver has proved that no
        repair changes fewer givens. Ignored for `Task.SOLVE`.
    """

    native: object
    assignment: Sequence[int] | None = None
    counters: Mapping[str, int] = field(default_factory=dict)
    log: str = ""
    complete: bool = False


Take = Callable[[Sequence[int] | None], bool]
"""Accepts one solution of an enumeration, and returns whether the enumeration is to continue.

Raises ValueError for None, which stands for a solution that does not give each variable a single value.
"""


def first(enumerate_all: Callable[[Any, float, Take], Found], model: Any, limit_s: float) -> Found:
    """Search by an enumeration that ends at its first solution.

    For backends whose search for one solution is no different from an enumeration.

    Parameters
    ----------
    enumerate_all
        The backend's `Enumerating.enumerate_all`.
    model, limit_s
        As for `Backend.search`.

    Returns
    -------
    Found
        The result of the enumeration, with the first solution as its assignment.
    """
    found: list[Sequence[int] | None] = []

    def take(assignment: Sequence[int] | None) -> bool:
        found.append(assignment)
        return False

    ended = enumerate_all(model, limit_s, take)
    return replace(ended, assignment=found[0] if found else None)


def last(enumerate_all: Callable[[Any, float, Take], Found], model: Any, limit_s: float, native: object) -> Found:
    """Optimize by an enumeration in which each solution is better than the one before.

    Parameters
    ----------
    enumerate_all
        The backend's `Enumerating.enumerate_all`.
    model, limit_s
        As for `Backend.search`.
    native
        The status to return if there is at least one solution.

    Returns
    -------
    Found
        The result of the enumeration, with the last solution as its assignment.
    """
    best: list[Sequence[int] | None] = []

    def take(assignment: Sequence[int] | None) -> bool:
        best[:] = [assignment]
        return True

    ended = enumerate_all(model, limit_s, take)
    return replace(ended, native=native, assignment=best[0]) if best else ended


@dataclass(frozen=True, slots=True)
class Meaning:
    """What a native status means: the answer to the puzzle, and why the solver stopped."""

    answer: Answer
    stop: Stop = Stop.FINISHED


SOLVED = Meaning(Answer.SOLUTION)
REFUTED = Meaning(Answer.NONE)  # a proof that there is no solution
GAVE_UP = Meaning(Answer.UNKNOWN)  # an incomplete method has ended without an answer
OUT_OF_TIME = Meaning(Answer.UNKNOWN, Stop.TIMEOUT)
FAILED = Meaning(Answer.UNKNOWN, Stop.ERROR)  # a status that a correct model and solver never return


@dataclass(frozen=True, slots=True)
class Size:
    """The size of the model: the number of variables and of constraints by type.

    Keys are free text for the report, such as ``integer`` or ``AllDifferent row``; a role follows the type.
    """

    variables: Mapping[str, int]
    constraints: Mapping[str, int]


@dataclass(frozen=True, slots=True)
class Order:
    """What ``build`` receives in addition to the problem.

    Parameters
    ----------
    settings
        The value of every parameter in ``PARAMETERS``, and of those from ``parameter`` that the user has set.
    seed
        The random seed of the run: any integer. It is the configuration's ``seed``, or derived from the
        batch's where that is -1 or missing. Mask it with ``& SEED_MOST`` for a library that takes 31 bits.
    task
        What the model is for. For `Task.REPAIR` the model leaves the givens open and minimizes how many
        of them change.
    """

    settings: Settings
    seed: int
    task: Task = Task.SOLVE


class Backend(Protocol):
    """The module of a backend.

    A module whose ``TASKS`` contain `Task.UNIQUE` or `Task.COUNT` is also `Enumerating`. A module may provide
    ``parameter(name) -> Parameter | None``, which describes a parameter of its library that ``PARAMETERS`` does not
    list, or returns None for an unknown name. It is called wherever a configuration is read.
    """

    HANDLES: tuple[type, ...]
    """The constraint types that ``build`` accepts, from `problems.constraints`.

    A run with any other constraint is stored as ``unsupported``, and ``build`` is not called. `problems.rewrite` and
    `problems.sets` rewrite some types into others.
    """

    TASKS: tuple[Task, ...]
    """The tasks that the backend performs. A run of any other task is stored as ``unsupported``."""

    STATUS: Mapping[Any, Meaning]
    """The meaning of every status that the library can return. An unknown one is stored as an error that names it."""

    PARAMETERS: Mapping[str, Parameter]
    """The parameters by name, in the order in which they are shown."""

    def version(self) -> str:
        """Return the version of the solver, as its library reports it.

        Called in the scheduler and in workers to detect what is installed, and in each sandbox once before the
        backend's first run. The call must import the library, so that the import is not part of the run's time.

        Raises
        ------
        ImportError, OSError
            The library is missing or cannot run here. The backend counts as not installed.
        Exception
            Any other exception: the backend is reported as broken. Other backends are unaffected.
        """

    def size(self, rules: Rules, settings: Settings) -> Size:
        """Count the variables and constraints of the model that ``build`` creates.

        Called once per rules and configuration in each sandbox, after the timed part of their first run, and by
        ``scheduler show --model``. The size depends on the rules only: count before the clues simplify anything.
        An exception is stored as the error of the run.
        """

    def build(self, problem: Problem, order: Order) -> Any:
        """Create the library's model of a problem.

        Called once per run, in a sandbox. Timed as ``build_s``. If it uses up the time limit, the run is stored as
        a timeout and ``search`` is not called.

        Returns
        -------
        Any
            The model, in whatever form ``search`` accepts. It is passed on once and then discarded.
        """

    def search(self, model: Any, limit_s: float) -> Found:
        """Solve the model: one solution for `Task.SOLVE`, a minimal repair for `Task.REPAIR`.

        Called at most once per run, right after ``build``, in the same process. Timed as ``solve_s``.

        Parameters
        ----------
        model
            What ``build`` returned.
        limit_s
            Seconds of wall time that are left after ``build``; greater than 0. Pass the limit to the library, or
            check a clock where the library has none. The run is a timeout if ``build`` and ``search`` take longer.

        Returns
        -------
        Found
            The status and the solution. A repair that is not proved minimal has ``complete=False``: it is
            stored with the stop ``timeout``.
        """


class Enumerating(Protocol):
    """What a backend's module provides in addition for `Task.UNIQUE` and `Task.COUNT`."""

    def enumerate_all(self, model: Any, limit_s: float, take: Take) -> Found:
        """Pass each solution to ``take`` exactly once, until it returns False or there are no more.

        Called instead of ``search``: once per run, in a sandbox. Timed as ``solve_s``, which includes ``take``.

        Parameters
        ----------
        model, limit_s
            As for ``search``.
        take
            Accepts one integer per variable of the rules; the sequence is copied. For `Task.UNIQUE` it returns False
            at the second solution, for `Task.COUNT` at the bound of the batch.

        Returns
        -------
        Found
            ``complete`` states whether there are no further solutions. The status matters only where neither
            ``complete`` nor ``take`` explains why the enumeration ended. ``assignment`` is ignored.
        """
