"""Futoshiki: a Latin square with inequality signs between neighbouring cells.

Text form: n × n cells row by row, n from 2 to 9. A cell is a value or a blank. It may be followed by the sign to its
right (``<`` or ``>``) and by the sign below it (``^``: less than the cell below; ``v``: greater). In
``.<..v.v.2...`` the first cell is less than the second, and the third is greater than the cell below it, which is 2.
"""

from __future__ import annotations

import re
from collections.abc import Iterator, Sequence
from functools import lru_cache
from math import isqrt

from cagematch.problems.constraints import AllDifferent, Constraint, Less
from cagematch.problems.errors import PuzzleError
from cagematch.problems.kinds import latin, sudoku
from cagematch.problems.kinds._drawing import frame
from cagematch.problems.kinds._shape import Shape, place, units
from cagematch.problems.problem import Problem, Rules

CELL = re.compile(r"([1-9.*_0-])(?:([<>])([v^])?|([v^])([<>])?)?", re.ASCII)
Signs = tuple[tuple[str, str], ...]  # for each cell, the signs to its right and below it


def parse(text: str) -> str:
    """Return the canonical text.

    Raises
    ------
    PuzzleError
        A cell, a sign or the number of cells is invalid, or a value appears twice in a row or column.
    """
    cells, signs, offsets = "", [], []
    at = 0
    while found := CELL.match(text, at):
        cells += found[1]
        signs.append((found[2] or found[5] or "", found[3] or found[4] or ""))
        offsets.append(at)
        at = found.end()
    if at < len(text):
        raise PuzzleError(f"found {text[at]!r}, expected a cell (1-9 or a blank) and its signs (< > v ^)", at)
    n = isqrt(len(cells))
    if n * n != len(cells) or not 2 <= n <= 9:
        raise PuzzleError(f"found {len(cells)} cells, expected a square number (4, 9, 16, … 81)")
    for cell, (right, below) in enumerate(signs):
        if (right and cell % n == n - 1) or (below and cell // n == n - 1):
            raise PuzzleError(f"found a sign at the edge: {place(cell, n)} has no neighbour there", offsets[cell] + 1)
    try:
        cells = latin.parse(cells)
    except PuzzleError as error:
        raise PuzzleError(str(error), None if error.offset is None else offsets[error.offset]) from None
    return "".join(cell + "".join(its) for cell, its in zip(cells, signs, strict=True))


def problem(text: str) -> Problem:
    """State the rules of a Latin square, and one Less per sign."""
    cells, signs = _read(text)
    return Problem(_rules(signs), latin.problem(cells).givens)


def render(text: str, solution: Sequence[int] | None = None) -> str:
    """Draw the cells with the signs between them.

    >>> print(render(".<..v.^.2..."))
    ┌───────────┐
    │ . < .   . │
    │         v │
    │ .   .   2 │
    │ ^         │
    │ .   .   . │
    └───────────┘
    """
    cells, signs = _read(text)
    n = isqrt(len(cells))
    body = cells if solution is None else digits(text, solution)
    lines = []
    for row in range(n):
        line = range(row * n, row * n + n)
        lines.append("".join(f"{body[cell]} {signs[cell][0] or ' '} " for cell in line)[: 4 * n - 3])
        lines.append("".join(f"{signs[cell][1] or ' '}   " for cell in line)[: 4 * n - 3])
    return frame(lines[:-1])


def digits(text: str, solution: Sequence[int]) -> str:
    """Return a solution in the compact form of the kind `sudoku`."""
    return sudoku.digits(text, solution)


def assignment(text: str, digits: str) -> tuple[int, ...]:
    """Return the values that `digits` wrote."""
    return sudoku.assignment(text, digits)


def name(text: str, variable: int) -> str:
    """Return the name of a cell: ``r1c5`` is the fifth cell of the first row."""
    return place(variable, isqrt(len(_read(text)[0])))


def _read(text: str) -> tuple[str, Signs]:
    """Return the cells and the signs of a canonical text."""
    found = CELL.findall(text)
    # The fourth group has the sign below a cell that has no sign to its right.
    return "".join(cell for cell, *_ in found), tuple((right, below or alone) for _, right, below, alone, _ in found)


@lru_cache(maxsize=64)
def _rules(signs: Signs) -> Rules:
    n = isqrt(len(signs))
    lines = [AllDifferent(cells, role) for role, cells in units(Shape(1, n)) if role != "box"]
    return Rules((tuple(range(1, n + 1)),) * n**2, (*lines, *_inequalities(signs, n)))


def _inequalities(signs: Signs, n: int) -> Iterator[Constraint]:
    for cell, both in enumerate(signs):
        for sign, other in zip(both, (cell + 1, cell + n), strict=True):
            if sign:
                yield Less((cell, other) if sign in "<^" else (other, cell), "sign")
