"""N queens on an n × n board, placed so that no queen attacks another.

Text form: the number of queens, ``8``. There are 2 solutions for 4 queens, 92 for 8, and none for 2 and 3
(sequence A000170 of the OEIS).

Each row has three variables: the column of its queen, and the rising and the falling diagonal of that square. Two sums
link the diagonals to the column. All columns differ, all rising diagonals differ, and all falling diagonals differ.
"""

from __future__ import annotations

import re
from collections.abc import Iterator, Sequence
from functools import lru_cache

from cagematch.problems.constraints import AllDifferent, Constraint, Sum
from cagematch.problems.errors import PuzzleError
from cagematch.problems.kinds._drawing import frame
from cagematch.problems.problem import Problem, Rules

LARGEST = 99
WORDS = ("", " rising", " falling")


def parse(text: str) -> str:
    """Return the number without leading zeros and spaces.

    Raises
    ------
    PuzzleError
        The text is not a number from 1 to 99.
    """
    found = re.fullmatch(r"\s*0*([1-9][0-9]?)\s*", text, re.ASCII)
    if not found:
        raise PuzzleError(f"found {text[:20]!r}, expected a number of queens from 1 to {LARGEST}", 0)
    return found[1]


def problem(text: str) -> Problem:
    """State the rules; the puzzle has no givens."""
    return Problem(_rules(int(text)))


def render(text: str, solution: Sequence[int] | None = None) -> str:
    """Draw the board, and the queens of a solution.

    >>> print(render("4", assignment("4", "2.4.1.3")))
    ┌─────────┐
    │ . Q . . │
    │ . . . Q │
    │ Q . . . │
    │ . . Q . │
    └─────────┘
    """
    n = int(text)
    columns = [0] * n if solution is None else solution[::3]
    return frame([" ".join("Q" if at == column else "." for at in range(1, n + 1)) for column in columns])


def digits(text: str, solution: Sequence[int]) -> str:  # noqa: ARG001 - other kinds need the puzzle
    """Return the queens' columns from the first row to the last, separated by dots."""
    return ".".join(map(str, solution[::3]))


def assignment(text: str, digits: str) -> tuple[int, ...]:
    """Return the columns that `digits` wrote, each with its two diagonals."""
    n = int(text)
    columns = [int(column) for column in digits.split(".")]
    return tuple(v for row, q in enumerate(columns) for v in (q, _rising(n, row) - q, _falling(n, row) - q))


def name(text: str, variable: int) -> str:  # noqa: ARG001 - other kinds need the puzzle
    """Return the name of a variable: ``r3`` is the column of the third row's queen, ``r3 rising`` its diagonal."""
    return f"r{variable // 3 + 1}{WORDS[variable % 3]}"


def _rising(n: int, row: int) -> int:
    return 2 * n - row


def _falling(n: int, row: int) -> int:
    return n + 1 + row


@lru_cache(maxsize=64)
def _rules(n: int) -> Rules:
    columns = range(1, n + 1)
    domains: list[tuple[int, ...]] = []
    for row in range(n):
        totals = _rising(n, row), _falling(n, row)
        domains += [tuple(columns), *(tuple(sorted(total - column for column in columns)) for total in totals)]
    return Rules(tuple(domains), tuple(_constraints(n)))


def _constraints(n: int) -> Iterator[Constraint]:
    for first, role in enumerate(("column", "diagonal", "diagonal")):
        yield AllDifferent(tuple(range(first, 3 * n, 3)), role)
    for row in range(n):
        yield Sum((3 * row, 3 * row + 1), _rising(n, row), "link")
        yield Sum((3 * row, 3 * row + 2), _falling(n, row), "link")
