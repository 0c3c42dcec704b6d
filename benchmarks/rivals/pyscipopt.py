"""PySCIPOpt: pyscipopt.readthedocs.io, ``Model``, "Read and write files" and "Matrix API"."""

from __future__ import annotations

import tempfile
from functools import lru_cache
from pathlib import Path
from typing import Any

from benchmarks.rivals import Build
from cagematch.problems.problem import Problem, Rules
from cagematch.problems.rewrite import direct
from cagematch.workers.backends.contract import Order

FORMATS = ("cip", "lp", "opb")  # An .mps file changes the order of the variables.


def interfaces(backend: Any) -> dict[str, Build]:  # noqa: ARG001
    """Return the documented interfaces, by name."""
    files = {f"readProblem of a .{form} file": _file(form) for form in FORMATS}
    return {"Model(sourceModel, origcopy)": original, "Model(sourceModel)": copied, "addMatrixCons": matrix} | files


def original(problem: Problem, order: Order) -> Any:
    """``Model(sourceModel=…, origcopy=True)``: SCIP's ``SCIPcopyOrig``."""
    import pyscipopt

    return _with_clues(pyscipopt.Model(sourceModel=_model(problem.rules), origcopy=True), problem, order)


def copied(problem: Problem, order: Order) -> Any:
    """``Model(sourceModel=…)``: SCIP's ``SCIPcopy``."""
    import pyscipopt

    return _with_clues(pyscipopt.Model(sourceModel=_model(problem.rules)), problem, order)


def matrix(problem: Problem, order: Order) -> Any:
    """``addMatrixVar`` and ``addMatrixCons``."""
    import numpy as np
    import pyscipopt

    model, (weights, high) = pyscipopt.Model(), _matrix(problem.rules)
    atoms = model.addMatrixVar((weights.shape[1],), vtype="B")
    model.addMatrixCons(weights @ atoms == np.asarray(high))
    return _with_clues(model, problem, order)


def _file(form: str) -> Build:
    def read(problem: Problem, order: Order) -> Any:
        """``Model.readProblem``."""
        import pyscipopt

        model = pyscipopt.Model()
        model.hideOutput()
        model.readProblem(str(Path(_folder(problem.rules).name, f"rules.{form}")))
        return _with_clues(model, problem, order)

    return read


def _with_clues(model: Any, problem: Problem, order: Order) -> Any:
    """Fix the clues; the variables are in the order of their creation."""
    encoding, atoms = direct(problem.rules), model.getVars()
    model.hideOutput()
    model.setParam("randomization/randomseedshift", order.seed)
    for given in problem.givens:
        model.chgVarLb(atoms[encoding.number[given]], 1)
    return model, atoms, encoding


@lru_cache
def _model(rules: Rules) -> Any:
    import pyscipopt

    encoding, model = direct(rules), pyscipopt.Model()
    atoms = [model.addVar(f"a{a}", vtype="B") for a in range(len(encoding.atoms))]
    for row in encoding.rows:
        model.addCons(pyscipopt.quicksum(atoms[a] for a in row.atoms) == row.high)
    return model


@lru_cache
def _matrix(rules: Rules) -> tuple[Any, Any]:
    import numpy as np

    encoding = direct(rules)
    weights = np.zeros((len(encoding.rows), len(encoding.atoms)))
    for at, row in enumerate(encoding.rows):
        weights[at, list(row.atoms)] = row.weights
    return weights, np.array([row.high for row in encoding.rows])


@lru_cache
def _folder(rules: Rules) -> tempfile.TemporaryDirectory[str]:
    folder, model = tempfile.TemporaryDirectory(), _model(rules)
    for form in FORMATS:
        model.writeProblem(str(Path(folder.name, f"rules.{form}")), verbose=False)
    return folder
