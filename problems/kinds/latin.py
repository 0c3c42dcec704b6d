"""Latin squares to complete (quasigroup completion): each row and each column contains 1 … n exactly once.

Text form: n × n characters row by row, see `cagematch.problems.kinds._clues`; n is from 2 to 36.
"""

from __future__ import annotations

from collections.abc import Sequence
from functools import lru_cache
from math import isqrt

from cagematch.problems.constraints import AllDifferent
from cagematch.problems.errors import Contradiction, PuzzleError
from cagematch.problems.kinds import _clues, sudoku
from cagematch.problems.kinds._drawing import frame
from cagematch.problems.kinds._shape import LARGEST, Shape, place, units
from cagematch.problems.problem import Problem, Rules


def parse(text: str) -> str:
    """Return the canonical text.

    Raises
    ------
    PuzzleError
        The length is not a square number, or a symbol is invalid.
    Contradiction
        A value appears twice in a row or column.
    """
    n = isqrt(len(text))
    if n * n != len(text) or not 2 <= n <= LARGEST:
        raise PuzzleError(f"length is {len(text)}, expected a square number (4, 9, 16, 25, … 1296)")
    shape = _shape(text)
    try:
        return _clues.canonical(text, 0, shape).removeprefix(shape.prefix)
    except Contradiction as error:
        raise Contradiction(str(error), error.offset, error.text.removeprefix(shape.prefix)) from None


def problem(text: str) -> Problem:
    """State the rules as one AllDifferent per row and column, and the clues as givens."""
    cells = _clues.values(text, _shape(text))
    return Problem(_rules(_shape(text)), tuple((cell, value) for cell, value in enumerate(cells) if value))


def render(text: str, solution: Sequence[int] | None = None) -> str:
    """Draw the square; blanks are dots.

    >>> print(render("1...3...2"))
    ┌───────┐
    │ 1 . . │
    │ . 3 . │
    │ . . 2 │
    └───────┘
    """
    n = _shape(text).n
    body = text if solution is None else digits(text, solution)
    return frame([" ".join(body[at : at + n]) for at in range(0, n * n, n)])


def digits(text: str, solution: Sequence[int]) -> str:
    """Return a solution in the compact form of the kind `sudoku`."""
    return sudoku.digits(text, solution)


def assignment(text: str, digits: str) -> tuple[int, ...]:
    """Return the values that `digits` wrote."""
    return sudoku.assignment(text, digits)


def name(text: str, variable: int) -> str:
    """Return the name of a cell: ``r1c5`` is the fifth cell of the first row."""
    return place(variable, _shape(text).n)


def _shape(text: str) -> Shape:
    """Return a grid whose boxes are its rows, so that the boxes add no constraint."""
    return Shape(1, isqrt(len(text)))


@lru_cache(maxsize=64)
def _rules(shape: Shape) -> Rules:
    lines = ((role, cells) for role, cells in units(shape) if role != "box")
    return Rules(
        (tuple(range(1, shape.n + 1)),) * shape.n**2, tuple(AllDifferent(cells, role) for role, cells in lines)
    )
