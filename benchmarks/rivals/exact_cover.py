"""exact_cover: github.com/jwg4/exact_cover, "How to Use It": the only input is a numpy matrix of 32-bit integers."""

from __future__ import annotations

from functools import lru_cache
from typing import Any

from benchmarks.rivals import Build
from cagematch.problems.problem import Problem, Rules
from cagematch.problems.rewrite import direct
from cagematch.workers.backends.contract import Order


def interfaces(backend: Any) -> dict[str, Build]:  # noqa: ARG001
    """Return the documented interfaces, by name."""
    return {"numpy.take": take, "numpy, a mask": mask}


def take(problem: Problem, order: Order) -> Any:  # noqa: ARG001
    """``numpy.take`` of the rows that agree with the clues."""
    kept = _kept(problem)
    return _matrix(problem.rules).take(kept.nonzero()[0], axis=0), kept, direct(problem.rules)


def mask(problem: Problem, order: Order) -> Any:  # noqa: ARG001
    """Indexing with an array of Booleans."""
    kept = _kept(problem)
    return _matrix(problem.rules)[kept], kept, direct(problem.rules)


def _kept(problem: Problem) -> Any:
    import numpy as np

    encoding = direct(problem.rules)
    kept = np.ones(len(encoding.atoms), dtype=bool)
    for variable, value in problem.givens:
        first = encoding.first[variable]
        kept[first : first + len(problem.rules.domains[variable])] = False
        kept[encoding.number[variable, value]] = True
    return kept


@lru_cache
def _matrix(rules: Rules) -> Any:
    import numpy as np

    encoding = direct(rules)
    matrix = np.zeros((len(encoding.atoms), len(encoding.rows)), dtype=np.int32)
    for column, row in enumerate(encoding.rows):
        matrix[list(row.atoms), column] = 1
    return matrix
