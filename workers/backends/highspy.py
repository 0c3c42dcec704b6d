"""HiGHS, the linear and mixed-integer solver of the University of Edinburgh, through its own Python interface.

The matrix of the rules is cached as a ``HighsLp``; ``passModel`` copies it to a new solver in each run. Clues are
bounds.

Documentation: highs.dev.
"""

from __future__ import annotations

from collections.abc import Sequence
from functools import lru_cache
from typing import Any, NamedTuple

from cagematch.problems.outcome import Task
from cagematch.problems.problem import Problem, Rules
from cagematch.problems.rewrite import ENCODED, Direct, direct
from cagematch.problems.sets import posted
from cagematch.workers.backends._cuts import Cutting, chosen
from cagematch.workers.backends._linear import read, size
from cagematch.workers.backends.contract import (
    CAGES,
    FAILED,
    OUT_OF_TIME,
    REFUTED,
    SEED_MOST,
    SOLVED,
    Found,
    Order,
    Parameter,
)

__all__ = ["HANDLES", "PARAMETERS", "STATUS", "TASKS", "build", "enumerate_all", "search", "size", "version"]

HANDLES = ENCODED
TASKS = tuple(Task)
OPTIMAL, LATE = "kOptimal", "kTimeLimit"
FEASIBLE = "kTimeLimit with a solution"  # a combination of the model status and the solution status
STATUS = {
    OPTIMAL: SOLVED,
    FEASIBLE: SOLVED,
    "kInfeasible": REFUTED,
    "kUnboundedOrInfeasible": REFUTED,  # a 0/1 program is never unbounded
    LATE: OUT_OF_TIME,
    "kInterrupt": OUT_OF_TIME,
    "kHighsInterrupt": OUT_OF_TIME,
    **dict.fromkeys(("kLoadError", "kModelError", "kPresolveError", "kSolveError", "kPostsolveError"), FAILED),
    **dict.fromkeys(("kNotset", "kModelEmpty", "kUnbounded", "kUnknown"), FAILED),
    # Limits that are never set.
    **dict.fromkeys(
        ("kObjectiveBound", "kObjectiveTarget", "kIterationLimit", "kSolutionLimit", "kMemoryLimit"), FAILED
    ),
}
PARAMETERS = {"cages": CAGES, "seed": Parameter(-1, least=-1, help="random seed; -1 uses the seed of the batch")}


class Model(NamedTuple):
    """A solver with its program, and the encoding of the program."""

    solver: Any
    encoding: Direct


def version() -> str:
    import highspy

    return f"{highspy.HIGHS_VERSION_MAJOR}.{highspy.HIGHS_VERSION_MINOR}.{highspy.HIGHS_VERSION_PATCH}"


def build(problem: Problem, order: Order) -> Model:
    import highspy

    rules = posted(problem.rules, order.settings["cages"])
    encoding = direct(rules)
    solver = highspy.Highs()
    solver.setOptionValue("output_flag", False)
    solver.setOptionValue("threads", 1)
    solver.setOptionValue("random_seed", order.seed & SEED_MOST)
    solver.passModel(_program(rules))
    for given in problem.givens:
        if order.task is Task.REPAIR:
            # Maximize the number of kept givens. The gap of 0.01 % is less than one given, so optimal is exact.
            solver.changeColCost(encoding.number[given], -1)
        else:
            solver.changeColBounds(encoding.number[given], 1, 1)
    return Model(solver, encoding)


def search(model: Model, limit_s: float) -> Found:
    import highspy

    solver, encoding = model
    solver.setOptionValue("time_limit", limit_s)
    solver.run()
    native = solver.getModelStatus().name
    info = solver.getInfo()
    counters = {"nodes": max(0, info.mip_node_count), "iterations": info.simplex_iteration_count}
    if native == LATE and info.primal_solution_status == highspy.SolutionStatus.kSolutionStatusFeasible:
        native = FEASIBLE
    if STATUS.get(native) is not SOLVED:
        return Found(native, None, counters)
    assignment = read(encoding, solver.getSolution().col_value)
    return Found(native, assignment, counters, complete=native == OPTIMAL)


def _forbid(model: Model, assignment: Sequence[int]) -> None:
    import highspy
    import numpy as np

    atoms = np.array(chosen(model.encoding, assignment), dtype=np.int32)
    model.solver.addRow(-highspy.kHighsInf, len(atoms) - 1, len(atoms), atoms, np.ones(len(atoms)))


enumerate_all = Cutting(search, _forbid, STATUS, LATE).enumerate_all


@lru_cache(maxsize=64)
def _program(rules: Rules) -> Any:
    import highspy
    import numpy as np

    encoding, program = direct(rules), highspy.HighsLp()
    rows, count = encoding.rows, len(encoding.atoms)
    program.num_col_, program.num_row_ = count, len(rows)
    program.col_cost_, program.col_lower_, program.col_upper_ = np.zeros(count), np.zeros(count), np.ones(count)
    program.integrality_ = [highspy.HighsVarType.kInteger] * count
    program.row_lower_ = np.array([row.low for row in rows], dtype=float)
    program.row_upper_ = np.array([row.high for row in rows], dtype=float)
    matrix = program.a_matrix_
    matrix.format_ = highspy.MatrixFormat.kRowwise
    matrix.start_ = np.cumsum([0, *(len(row.atoms) for row in rows)]).astype(np.int32)
    matrix.index_ = np.array([atom for row in rows for atom in row.atoms], dtype=np.int32)
    matrix.value_ = np.array([weight for row in rows for weight in row.weights], dtype=float)
    return program
