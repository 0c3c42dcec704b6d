"""HiGHS: ergo-code.github.io/HiGHS/stable/interfaces/python/, "Passing a model" and "Read a model"."""

from __future__ import annotations

import tempfile
from functools import lru_cache
from pathlib import Path
from typing import Any

from benchmarks.rivals import Build
from cagematch.problems.problem import Problem, Rules
from cagematch.problems.rewrite import direct
from cagematch.workers.backends.contract import Order

Arrays = dict[str, Any]


def interfaces(backend: Any) -> dict[str, Build]:  # noqa: ARG001
    """Return the documented interfaces, by name."""
    return {"passModel of a HighsLp": structure, "passModel of arrays": arrays, "readModel of an MPS file": file}


def structure(problem: Problem, order: Order) -> Any:
    """``passModel(HighsLp)``, then ``changeColsBounds``."""
    import numpy as np

    solver, encoding = _solver(order), direct(problem.rules)
    solver.passModel(_structure(problem.rules))
    clues = np.array([encoding.number[given] for given in problem.givens], dtype=np.int32)
    ones = np.ones(len(clues))
    solver.changeColsBounds(len(clues), clues, ones, ones)
    return solver, encoding


def arrays(problem: Problem, order: Order) -> Any:
    """``passModel`` of arrays, with the clues as lower bounds."""
    import numpy as np

    solver, encoding, fixed = _solver(order), direct(problem.rules), _arrays(problem.rules)
    lower = np.zeros(len(encoding.atoms))
    lower[[encoding.number[given] for given in problem.givens]] = 1
    solver.passModel(
        *(len(encoding.atoms), len(encoding.rows), len(fixed["index"]), 2, 1, 0.0),  # row-wise, minimise, offset
        *(fixed["cost"], lower, fixed["upper"], fixed["low"], fixed["high"]),
        *(fixed["start"], fixed["index"], fixed["value"], fixed["integer"]),
    )
    return solver, encoding


def file(problem: Problem, order: Order) -> Any:
    """``readModel``, then ``changeColBounds``."""
    solver, encoding = _solver(order), direct(problem.rules)
    solver.readModel(str(Path(_folder(problem.rules).name, "rules.mps")))
    for given in problem.givens:
        solver.changeColBounds(encoding.number[given], 1, 1)
    return solver, encoding


def _solver(order: Order) -> Any:
    import highspy

    solver = highspy.Highs()
    solver.setOptionValue("output_flag", False)
    solver.setOptionValue("threads", 1)
    solver.setOptionValue("random_seed", order.seed)
    return solver


@lru_cache
def _arrays(rules: Rules) -> Arrays:
    import numpy as np

    encoding = direct(rules)
    count, rows = len(encoding.atoms), encoding.rows
    return {
        "cost": np.zeros(count),
        "upper": np.ones(count),
        "low": np.array([row.low for row in rows], dtype=float),
        "high": np.array([row.high for row in rows], dtype=float),
        "start": np.cumsum([0, *(len(row.atoms) for row in rows)]).astype(np.int32),
        "index": np.array([atom for row in rows for atom in row.atoms], dtype=np.int32),
        "value": np.array([weight for row in rows for weight in row.weights], dtype=float),
        "integer": np.ones(count, dtype=np.int32),
    }


@lru_cache
def _structure(rules: Rules) -> Any:
    """The arrays as a ``HighsLp`` that the library returns."""
    solver = arrays(Problem(rules), Order({}, 0))[0]
    return solver.getLp()


@lru_cache
def _folder(rules: Rules) -> tempfile.TemporaryDirectory[str]:
    folder = tempfile.TemporaryDirectory()
    arrays(Problem(rules), Order({}, 0))[0].writeModel(str(Path(folder.name, "rules.mps")))
    return folder
