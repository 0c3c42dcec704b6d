"""SCIP, the constraint-integer solver of the Zuse Institute Berlin, directly.

Documentation: scipopt.org, and pyscipopt.readthedocs.io. The rules' program is made once and never solved; each run
copies it (``Model(sourceModel=…, origcopy=True)``, SCIP's own ``SCIPcopyOrig``), and clues are bounds.
"""

from __future__ import annotations

from functools import lru_cache
from typing import Any

from problems.outcome import Task
from problems.problem import Problem, Rules
from problems.rewrite import ENCODED, Direct, Row, direct
from workers.backends._linear import read, size
from workers.backends.contract import FAILED, OUT_OF_TIME, REFUTED, SEED_MOST, SOLVED, Found, Order, Parameter

__all__ = ["HANDLES", "PARAMETERS", "STATUS", "TASKS", "build", "search", "size", "version"]

HANDLES = ENCODED
TASKS = (Task.SOLVE,)
STATUS = {
    "optimal": SOLVED,
    "infeasible": REFUTED,
    "inforunbd": REFUTED,  # a 0/1 program is never unbounded
    "timelimit": OUT_OF_TIME,
    "userinterrupt": OUT_OF_TIME,
    "terminate": OUT_OF_TIME,
    **dict.fromkeys(("unknown", "unbounded"), FAILED),
    # Limits that are not set.
    **dict.fromkeys(("nodelimit", "totalnodelimit", "stallnodelimit", "gaplimit", "memlimit", "sollimit"), FAILED),
    **dict.fromkeys(("bestsollimit", "restartlimit", "primallimit", "duallimit"), FAILED),
}
PARAMETERS = {"seed": Parameter(-1, least=-1, help="random seed shift; -1 takes the batch's")}
Model = tuple[Any, list[Any], Direct]


def version() -> str:
    import pyscipopt

    model = pyscipopt.Model()
    return f"{model.getMajorVersion()}.{model.getMinorVersion()}.{model.getTechVersion()}"


def build(problem: Problem, order: Order) -> Model:
    import pyscipopt

    encoding = direct(problem.rules)
    model = pyscipopt.Model(sourceModel=_program(problem.rules), origcopy=True)
    model.hideOutput()
    model.setParam("randomization/randomseedshift", order.seed & SEED_MOST)
    named = {atom.name: atom for atom in model.getVars()}
    atoms = [named[f"a{a}"] for a in range(len(encoding.atoms))]
    for given in problem.givens:
        model.chgVarLb(atoms[encoding.number[given]], 1)
    return model, atoms, encoding


def search(model: Model, limit_s: float) -> Found:
    program, atoms, encoding = model
    program.setParam("limits/time", limit_s)
    program.optimize()
    native = str(program.getStatus())
    counters = {"nodes": int(program.getNTotalNodes())}
    if native != "optimal":
        return Found(native, None, counters)
    solution = program.getBestSol()
    return Found(native, read(encoding, [program.getSolVal(solution, atom) for atom in atoms]), counters)


@lru_cache(maxsize=64)
def _program(rules: Rules) -> Any:
    import pyscipopt

    encoding, model = direct(rules), pyscipopt.Model()
    atoms = [model.addVar(f"a{a}", vtype="B") for a in range(len(encoding.atoms))]
    for row in encoding.rows:
        model.addCons(_constraint(row, atoms))
    return model


def _constraint(row: Row, atoms: list[Any]) -> Any:
    from pyscipopt import quicksum

    total = quicksum(weight * atoms[a] for a, weight in zip(row.atoms, row.weights, strict=True))
    return total == row.high if row.low == row.high else total <= row.high
