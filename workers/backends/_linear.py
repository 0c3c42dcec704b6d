"""The linear solver interface of OR-Tools, for all of its engines: the direct encoding as a 0/1 program.

The program of the rules is cached as a protocol buffer and loaded in one call; no solver object is kept.

Documentation: the OR-Tools reference, ``pywraplp``, and ``linear_solver.proto`` for the protocol buffer. Each
engine's file names the documentation of that engine.
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Callable, Iterable, Sequence
from functools import lru_cache
from typing import Any, NamedTuple

from cagematch.problems.outcome import Task
from cagematch.problems.problem import Problem, Rules
from cagematch.problems.rewrite import ENCODED, Direct, direct
from cagematch.problems.sets import posted
from cagematch.workers.backends._cuts import Cutting, chosen
from cagematch.workers.backends.contract import (
    CAGES,
    FAILED,
    OUT_OF_TIME,
    REFUTED,
    SOLVED,
    Found,
    Order,
    Settings,
    Size,
    Take,
)

HANDLES = ENCODED
TASKS = tuple(Task)
RELAXED = (Task.SOLVE,)  # a relaxation proves nothing about further integer solutions
STATUS = {
    0: SOLVED,  # OPTIMAL
    1: SOLVED,  # FEASIBLE
    2: REFUTED,  # INFEASIBLE
    3: FAILED,  # UNBOUNDED: a 0/1 program never is
    4: FAILED,  # ABNORMAL
    5: FAILED,  # MODEL_INVALID
    6: OUT_OF_TIME,  # NOT_SOLVED
    # MPSOLVER_UNKNOWN_STATUS of the protocol buffer, which HiGHS and PDLP return at a limit. Any solution is lost.
    99: OUT_OF_TIME,
}
PARAMETERS = {"cages": CAGES}
COUNTS = ("nodes", "iterations")  # what most engines count; an engine without a counter prints a warning to stderr
OPTIMAL, LATE = 0, 6
HALF = 0.5  # solvers return 0.9999999 for 1
WHOLE = 1e-3  # a value further than this from 0 and from 1 is fractional: the optimum of a relaxation


class Model(NamedTuple):
    """A solver with its program loaded, the encoding of the program, and the names of the engine's counters."""

    solver: Any
    encoding: Direct
    counts: Sequence[str]


def engine(name: str, counts: Sequence[str] = COUNTS) -> tuple[Callable[[], str], Callable[[Problem, Order], Model]]:
    """Return the functions ``version`` and ``build`` of an engine; all other functions are shared.

    Parameters
    ----------
    name
        The engine's name in OR-Tools.
    counts
        The counters that the engine provides.
    """

    def version() -> str:
        """Return the engine's own version, or that of OR-Tools if the engine reports none."""
        import ortools

        reported = str(_solver(name).SolverVersion())
        return reported if any(symbol.isdigit() for symbol in reported) else f"of OR-Tools {ortools.__version__}"

    def build(problem: Problem, order: Order) -> Model:
        """Load one 0/1 variable per atom and one constraint per row; clues are bounds, or the objective of a repair."""
        solver = _solver(name)
        rules = posted(problem.rules, order.settings["cages"])
        encoding = direct(rules)
        solver.LoadModelFromProto(_program(rules))
        givens = [solver.variable(encoding.number[given]) for given in problem.givens]
        if order.task is Task.REPAIR:
            _maximize_kept(solver, givens)
        else:
            for given in givens:
                given.SetLb(1)
        return Model(solver, encoding, counts)

    return version, build


def _maximize_kept(solver: Any, givens: Sequence[Any]) -> None:
    """Maximize the number of kept givens. The engines' gap of 0.01 % is less than one given, so optimal is exact."""
    objective = solver.Objective()
    for given in givens:
        objective.SetCoefficient(given, 1)
    objective.SetMaximization()


def search(model: Model, limit_s: float) -> Found:
    """Solve within the limit, which OR-Tools accepts in whole milliseconds."""
    from ortools.linear_solver.linear_solver_pb2 import MPSolutionResponse

    solver, encoding, counts = model
    solver.SetTimeLimit(max(1, int(limit_s * 1000)))
    native = solver.Solve()
    counters = {count: getattr(solver, count)() for count in counts}
    if STATUS.get(native) is not SOLVED:
        return Found(native, None, counters)
    response = MPSolutionResponse()
    solver.FillSolutionResponseProto(response)
    return Found(native, read(encoding, response.variable_value), counters, complete=native == OPTIMAL)


def _forbid(model: Model, assignment: Sequence[int]) -> None:
    """Add the cut. OR-Tools passes it to the engine at the next solve, which may reload the whole program."""
    cut = model.solver.Constraint(0, len(assignment) - 1)
    for atom in chosen(model.encoding, assignment):
        cut.SetCoefficient(model.solver.variable(atom), 1)


def enumerating(search: Callable[[Model, float], Found]) -> Callable[[Model, float, Take], Found]:
    """Return the function ``enumerate_all`` for a search."""
    return Cutting(search, _forbid, STATUS, LATE).enumerate_all


enumerate_all = enumerating(search)


def read(encoding: Direct, values: Iterable[float]) -> tuple[int, ...] | None:
    """Convert the values of the atoms into an assignment; None if a value is fractional."""
    found = list(values)
    if any(WHOLE < value < 1 - WHOLE for value in found):
        return None
    return encoding.decode([value > HALF for value in found])


@lru_cache(maxsize=64)
def _program(rules: Rules) -> Any:
    from ortools.linear_solver.linear_solver_pb2 import MPModelProto

    encoding, program = direct(rules), MPModelProto()
    for _ in encoding.atoms:
        program.variable.add(lower_bound=0, upper_bound=1, is_integer=True)
    for row in encoding.rows:
        program.constraint.add(var_index=row.atoms, coefficient=row.weights, lower_bound=row.low, upper_bound=row.high)
    return program


def _solver(engine: str) -> Any:
    from ortools.linear_solver import pywraplp

    solver = pywraplp.Solver.CreateSolver(engine)
    if solver is None:
        raise ImportError(f"this build of OR-Tools has no engine {engine}")
    return solver


def size(rules: Rules, settings: Settings) -> Size:
    """Count the 0/1 variables, and the rows by role."""
    encoding = direct(posted(rules, settings["cages"]))
    return Size({"binary": len(encoding.atoms)}, Counter(f"linear {row.role}" for row in encoding.rows))
