"""SCIP, the constraint-integer solver of the Zuse Institute Berlin, through its own Python interface.

The program of the rules is cached and never solved. Each run copies it (``Model(sourceModel=…, origcopy=True)``, which
is ``SCIPcopyOrig``). Clues are bounds.

Documentation: scipopt.org, and pyscipopt.readthedocs.io.
"""

from __future__ import annotations

from collections.abc import Sequence
from functools import lru_cache
from typing import Any, NamedTuple

from cagematch.problems.outcome import Task
from cagematch.problems.problem import Problem, Rules
from cagematch.problems.rewrite import ENCODED, Direct, LinearRow, direct
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
OPTIMAL, LATE = "optimal", "timelimit"
FEASIBLE = "timelimit with a solution"  # a combination of the status and the number of solutions
STATUS = {
    OPTIMAL: SOLVED,
    FEASIBLE: SOLVED,
    "infeasible": REFUTED,
    "inforunbd": REFUTED,  # a 0/1 program is never unbounded
    LATE: OUT_OF_TIME,
    "userinterrupt": OUT_OF_TIME,
    "terminate": OUT_OF_TIME,
    **dict.fromkeys(("unknown", "unbounded"), FAILED),
    # Limits that are never set.
    **dict.fromkeys(("nodelimit", "totalnodelimit", "stallnodelimit", "gaplimit", "memlimit", "sollimit"), FAILED),
    **dict.fromkeys(("bestsollimit", "restartlimit", "primallimit", "duallimit"), FAILED),
}
PARAMETERS = {"cages": CAGES, "seed": Parameter(-1, least=-1, help="random seed shift; -1 uses the seed of the batch")}


class Model(NamedTuple):
    """A copy of the rules' program, its variables, and its encoding."""

    program: Any
    atoms: list[Any]
    encoding: Direct


def version() -> str:
    import pyscipopt

    model = pyscipopt.Model()
    return f"{model.getMajorVersion()}.{model.getMinorVersion()}.{model.getTechVersion()}"


def build(problem: Problem, order: Order) -> Model:
    import pyscipopt

    rules = posted(problem.rules, order.settings["cages"])
    encoding = direct(rules)
    program = pyscipopt.Model(sourceModel=_program(rules), origcopy=True)
    program.hideOutput()
    program.setParam("randomization/randomseedshift", order.seed & SEED_MOST)
    named = {atom.name: atom for atom in program.getVars()}
    atoms = [named[f"a{a}"] for a in range(len(encoding.atoms))]
    givens = [atoms[encoding.number[given]] for given in problem.givens]
    if order.task is Task.REPAIR:
        # Maximize the number of kept givens. SCIP's default gap is 0, so optimal is exact.
        program.setObjective(pyscipopt.quicksum(givens), "maximize")
    else:
        for given in givens:
            program.chgVarLb(given, 1)
    return Model(program, atoms, encoding)


def search(model: Model, limit_s: float) -> Found:
    program, atoms, encoding = model
    program.setParam("limits/time", limit_s)
    program.optimize()
    native = str(program.getStatus())
    counters = {"nodes": int(program.getNTotalNodes())}
    if native == LATE and program.getNSols():
        native = FEASIBLE
    if STATUS.get(native) is not SOLVED:
        return Found(native, None, counters)
    solution = program.getBestSol()
    assignment = read(encoding, [program.getSolVal(solution, atom) for atom in atoms])
    return Found(native, assignment, counters, complete=native == OPTIMAL)


def _forbid(model: Model, assignment: Sequence[int]) -> None:
    """Return to the original program, the only one that can be changed, and add the cut."""
    import pyscipopt

    program, atoms, encoding = model
    program.freeTransform()
    program.addCons(pyscipopt.quicksum(atoms[atom] for atom in chosen(encoding, assignment)) <= len(assignment) - 1)


enumerate_all = Cutting(search, _forbid, STATUS, LATE).enumerate_all


@lru_cache(maxsize=64)
def _program(rules: Rules) -> Any:
    import pyscipopt

    encoding, model = direct(rules), pyscipopt.Model()
    atoms = [model.addVar(f"a{a}", vtype="B") for a in range(len(encoding.atoms))]
    for row in encoding.rows:
        model.addCons(_constraint(row, atoms))
    return model


def _constraint(row: LinearRow, atoms: list[Any]) -> Any:
    from pyscipopt import quicksum

    total = quicksum(weight * atoms[a] for a, weight in zip(row.atoms, row.weights, strict=True))
    return total == row.high if row.low == row.high else total <= row.high
