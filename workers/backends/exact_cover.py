"""Exact cover by dancing links: choose rows of a 0/1 matrix so that each column is covered exactly once.

Each atom of the direct encoding is a row, and each of its constraints is a column. An optional column has a slack row
that covers only this column.

Documentation: github.com/jwg4/exact_cover; Knuth, "Dancing Links" (2000).
"""

from __future__ import annotations

import time
from collections import Counter
from collections.abc import Iterable
from functools import lru_cache
from typing import Any

from cagematch.problems.constraints import AllDifferent, Less, NotEqual
from cagematch.problems.outcome import Task
from cagematch.problems.problem import Problem, Rules
from cagematch.problems.rewrite import Direct, direct
from cagematch.workers.backends.contract import (
    OUT_OF_TIME,
    REFUTED,
    SOLVED,
    Found,
    Order,
    Parameter,
    Settings,
    Size,
    Take,
)

HANDLES = (AllDifferent, NotEqual, Less)  # a sum cannot be stated as a cover
TASKS = (Task.SOLVE, Task.UNIQUE, Task.COUNT)
# The library has no time limit. The clock is checked between two calls; the keeper ends a call that takes too long.
STATUS = {"cover": SOLVED, "no cover": REFUTED, "limit": OUT_OF_TIME}
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
    """Copy the rules' matrix without the rows that the clues exclude."""
    import numpy as np

    encoding, matrix = direct(problem.rules), _matrix(problem.rules)
    kept = np.ones(len(matrix), dtype=bool)
    for variable, value in problem.givens:
        first = encoding.first[variable]
        kept[first : first + len(problem.rules.domains[variable])] = False
        kept[encoding.number[variable, value]] = True
    return matrix[kept], kept, encoding


def search(model: Model, limit_s: float) -> Found:  # noqa: ARG001 - the library has no limit
    from exact_cover import get_exact_cover
    from exact_cover.error import NoSolution

    try:
        return Found("cover", _read(model, get_exact_cover(model[0])))
    except NoSolution:
        return Found("no cover")


def enumerate_all(model: Model, limit_s: float, take: Take) -> Found:
    """Request 2, 4, 8 … covers: the library returns only when it has found that number, or all."""
    deadline = time.monotonic() + limit_s
    known: set[tuple[int, ...]] = set()
    requested = 2
    while time.monotonic() < deadline:
        covers = _covers(model[0], requested)
        for cover in covers - known:
            if not take(_read(model, cover)):
                return Found("cover")
        if len(covers) < requested:
            return Found("cover" if covers else "no cover", complete=True)
        known, requested = covers, 2 * requested
    return Found("limit")


def _read(model: Model, cover: Iterable[int]) -> tuple[int, ...] | None:
    _, kept, encoding = model
    numbers = kept.nonzero()[0]
    chosen = {int(numbers[row]) for row in cover}
    return encoding.decode([atom in chosen for atom in range(len(encoding.atoms))])


def _covers(matrix: Any, most: int) -> set[tuple[int, ...]]:
    from exact_cover import get_all_solutions
    from exact_cover.error import NoSolution

    try:
        covers: set[tuple[int, ...]] = get_all_solutions(matrix, most)
    except NoSolution:
        return set()
    return {cover or tuple(range(len(matrix))) for cover in covers}  # the library returns () for a cover of all rows


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
