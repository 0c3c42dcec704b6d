"""Exact cover by dancing links: choose rows of a 0/1 matrix so that each column is covered once.

Documentation: github.com/jwg4/exact_cover; Knuth, "Dancing Links" (2000). Each atom of the direct encoding is a row,
each of its constraints a column; one that need not be covered has a row of its own that covers nothing else.
"""

from __future__ import annotations

from collections import Counter
from functools import lru_cache
from typing import Any

from problems.constraints import AllDifferent, Less, NotEqual
from problems.outcome import Task
from problems.problem import Problem, Rules
from problems.rewrite import Direct, direct
from workers.backends.contract import REFUTED, SOLVED, Found, Order, Parameter, Settings, Size

HANDLES = (AllDifferent, NotEqual, Less)  # a sum is no cover
TASKS = (Task.SOLVE,)
STATUS = {"cover": SOLVED, "no cover": REFUTED}  # the library has no limit of its own: the keeper ends it
PARAMETERS: dict[str, Parameter] = {}
Model = tuple[Any, Any, Direct]


def version() -> str:
    from importlib.metadata import version as of

    import exact_cover

    return of(exact_cover.__name__)


def size(rules: Rules, settings: Settings) -> Size:  # noqa: ARG001 - nothing to set
    encoding = direct(rules)
    slack = sum(not row.low for row in encoding.rows)
    rows = {"row": len(encoding.atoms)} | ({"slack row": slack} if slack else {})
    return Size(rows, Counter(f"column {row.role}" for row in encoding.rows))


def build(problem: Problem, order: Order) -> Model:  # noqa: ARG001 - nothing to set
    """Take the rules' matrix without the rows that the clues rule out."""
    import numpy as np

    encoding, matrix = direct(problem.rules), _matrix(problem.rules)
    kept = np.ones(len(matrix), dtype=bool)
    for variable, value in problem.givens:
        first = encoding.first[variable]
        kept[first : first + len(problem.rules.domains[variable])] = False
        kept[encoding.number[variable, value]] = True
    return matrix[kept], kept, encoding


def search(model: Model, limit_s: float) -> Found:  # noqa: ARG001 - the library knows no limit
    from exact_cover import get_exact_cover
    from exact_cover.error import NoSolution

    matrix, kept, encoding = model
    numbers = kept.nonzero()[0]
    try:
        chosen = {int(numbers[row]) for row in get_exact_cover(matrix)}
    except NoSolution:
        return Found("no cover")
    return Found("cover", encoding.decode([atom in chosen for atom in range(len(encoding.atoms))]))


@lru_cache(maxsize=64)
def _matrix(rules: Rules) -> Any:
    import numpy as np

    encoding = direct(rules)
    optional = [column for column, row in enumerate(encoding.rows) if not row.low]
    matrix = np.zeros((len(encoding.atoms) + len(optional), len(encoding.rows)), dtype=np.int32)
    for column, row in enumerate(encoding.rows):
        matrix[list(row.atoms), column] = 1
    for slack, column in enumerate(optional, len(encoding.atoms)):
        matrix[slack, column] = 1
    return matrix
