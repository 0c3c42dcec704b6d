"""OR-Tools' linear solver, whichever engine is behind it: the direct encoding as a 0/1 program.

Documentation: the OR-Tools reference, ``pywraplp``, and ``linear_solver.proto`` for its bulk form, which is loaded in
one call: what depends on the rules only is made once and kept, and no solver is. The engines' own files name theirs.
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
RELAXED = (Task.SOLVE,)  # a relaxation tells nothing of whole numbers, and so nothing of other solutions
STATUS = {
    0: SOLVED,  # OPTIMAL
    1: SOLVED,  # FEASIBLE
    2: REFUTED,  # INFEASIBLE
    3: FAILED,  # UNBOUNDED: a 0/1 program never is
    4: FAILED,  # ABNORMAL
    5: FAILED,  # MODEL_INVALID
    6: OUT_OF_TIME,  # NOT_SOLVED
    # HiGHS and PDLP answer in the words of the bulk form: MPSOLVER_UNKNOWN_STATUS. What they found before is lost.
    99: OUT_OF_TIME,
}
PARAMETERS = {"cages": CAGES}
COUNTS = ("nodes", "iterations")  # what an engine counts; to be asked for more, it complains on stderr
OPTIMAL, LATE = 0, 6
HALF = 0.5  # solvers return 0.9999999 for 1
WHOLE = 1e-3  # further from 0 and from 1 a value is fractional: the optimum of a relaxation, and no answer


class Model(NamedTuple):
    """A loaded solver, the encoding of what it solves, and what its engine counts."""

    solver: Any
    encoding: Direct
    counts: Sequence[str]


def engine(name: str, counts: Sequence[str] = COUNTS) -> tuple[Callable[[], str], Callable[[Problem, Order], Model]]:
    """The functions ``version`` and ``build`` of an engine; all others are the same for every one."""

    def version() -> str:
        """What the engine calls itself, and what brings it along where it does not say which version it is."""
        import ortools

        told = str(_solver(name).SolverVersion())
        return told if any(symbol.isdigit() for symbol in told) else f"of OR-Tools {ortools.__version__}"

    def build(problem: Problem, order: Order) -> Model:
        """Load one binary an atom and one linear constraint a row; clues are bounds, or to be kept if possible."""
        solver = _solver(name)
        rules = posted(problem.rules, order.settings["cages"])
        encoding = direct(rules)
        solver.LoadModelFromProto(_program(rules))
        givens = [solver.variable(encoding.number[given]) for given in problem.givens]
        if order.task is Task.REPAIR:
            _keep_most(solver, givens)
        else:
            for given in givens:
                given.SetLb(1)
        return Model(solver, encoding, counts)

    return version, build


def _keep_most(solver: Any, givens: Sequence[Any]) -> None:
    """Maximise how many hold. Engines call optimal what is within 0.01 %: less than one, of any number of clues."""
    objective = solver.Objective()
    for given in givens:
        objective.SetCoefficient(given, 1)
    objective.SetMaximization()


def search(model: Model, limit_s: float) -> Found:
    """Solve within the limit, which the linear solver takes in milliseconds."""
    from ortools.linear_solver.linear_solver_pb2 import MPSolutionResponse

    solver, encoding, counts = model
    solver.SetTimeLimit(max(1, int(limit_s * 1000)))
    native = solver.Solve()
    counters = {count: getattr(solver, count)() for count in counts}
    if STATUS.get(native) is not SOLVED:
        return Found(native, None, counters)
    told = MPSolutionResponse()
    solver.FillSolutionResponseProto(told)
    return Found(native, read(encoding, told.variable_value), counters, complete=native == OPTIMAL)


def _forbid(model: Model, assignment: Sequence[int]) -> None:
    """Add the cut. The linear solver sees to it that its engine has it with the next solve, which may load all anew."""
    cut = model.solver.Constraint(0, len(assignment) - 1)
    for atom in chosen(model.encoding, assignment):
        cut.SetCoefficient(model.solver.variable(atom), 1)


def enumerating(search: Callable[[Model, float], Found]) -> Callable[[Model, float, Take], Found]:
    """The function ``enumerate_all`` that goes with a search."""
    return Cutting(search, _forbid, STATUS, LATE).enumerate_all


enumerate_all = enumerating(search)


def read(encoding: Direct, values: Iterable[float]) -> tuple[int, ...] | None:
    """Turn the values of the atoms into an assignment; None where any is fractional."""
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
        raise ImportError(f"this OR-Tools was built without {engine}")
    return solver


def size(rules: Rules, settings: Settings) -> Size:
    """Count the binaries and the rows by role."""
    encoding = direct(posted(rules, settings["cages"]))
    return Size({"binary": len(encoding.atoms)}, Counter(f"linear {row.role}" for row in encoding.rows))
