"""Sudoku with boxes of any shape or with irregular regions, and optionally diagonals, windows or centre dots.

Text form: n × n characters row by row, see `cagematch.problems.kinds._clues`. If n is a square number, boxes are square
by default. Otherwise a prefix with the box shape is required: ``2x3:`` means boxes of 2 rows and 3 columns.
Other prefixes add constraints. They may be in any order; the canonical order is:

==========  ==========================================================================================
``X:``      each diagonal contains every value (Sudoku X)
``W:``      each window contains every value; windows are blocks of box size off the outer cells (windoku)
``C:``      the centres of all boxes together contain every value
``J:``      regions instead of boxes (jigsaw): n × n symbols follow the cells, and cells with the same symbol
            are a region. Canonical regions are named A, B, C … in order of appearance. A jigsaw whose regions
            are boxes has the canonical text of the puzzle with those boxes
==========  ==========================================================================================
"""

from __future__ import annotations

from collections.abc import Sequence
from functools import lru_cache
from random import Random

from cagematch.problems.constraints import AllDifferent
from cagematch.problems.kinds import _clues
from cagematch.problems.kinds._drawing import LIGHT, NONE, lattice
from cagematch.problems.kinds._shape import LARGEST, SQUARE_9, SYMBOLS, Shape, options_line, place, shape_of, units
from cagematch.problems.kinds._symmetry import symmetry_of
from cagematch.problems.problem import Problem, Restore, Rules


def parse(text: str) -> str:
    """Return the canonical text.

    Raises
    ------
    PuzzleError
        The prefix, the length or a symbol is invalid.
    Contradiction
        A value appears twice in a unit.
    """
    if len(text) == 81:  # the fast path: files have a million 9×9 grids
        return _clues.canonical(text, 0, SQUARE_9)
    shape, start, end = shape_of(text)
    return _clues.canonical(text[start:end], start, shape)


def problem(text: str) -> Problem:
    """State the rules as one AllDifferent per unit, and the clues as givens."""
    shape, start, end = shape_of(text)
    cells = _clues.values(text[start:end], shape)
    return Problem(_rules(shape), tuple((cell, value) for cell, value in enumerate(cells) if value))


def render(text: str, solution: Sequence[int] | None = None) -> str:
    """Draw the grid with its boxes; blanks are dots.

    >>> print(render("12...4....3...2."))
    ┌─────┬─────┐
    │ 1 2 │ . . │
    │ . 4 │ . . │
    ├─────┼─────┤
    │ . . │ 3 . │
    │ . . │ 2 . │
    └─────┴─────┘

    >>> print(render("X:J:12...4....3...2.AAABABBBCCCDCDDD"))
    ┌───────────┬───┐
    │ 1   2   . │ . │
    │   ┌───────┘   │
    │ . │ 4   .   . │
    ├───┴───────┬───┤
    │ .   .   3 │ . │
    │   ┌───────┘   │
    │ . │ .   2   . │
    └───┴───────────┘
    diagonals also contain every value
    """
    shape, start, end = shape_of(text)
    body = text[start:end] if solution is None else digits(text, solution)
    drawn = _with_regions(shape, body) if shape.regions else _with_boxes(shape, body)
    return drawn + options_line(shape)


def _with_regions(shape: Shape, body: str) -> str:
    regions = (*shape.regions, "")  # the last is outside
    return lattice(shape.n, body, lambda one, other: LIGHT if regions[one] != regions[other] else NONE)


def _with_boxes(shape: Shape, body: str) -> str:
    n = shape.n
    bar = "─" * (2 * shape.columns + 1)
    top, middle, bottom = ((a + b.join([bar] * shape.rows) + c) for a, b, c in ("┌┬┐", "├┼┤", "└┴┘"))
    lines = [top]
    for row in range(n):
        if row and row % shape.rows == 0:
            lines.append(middle)
        cells = body[row * n : (row + 1) * n]
        boxes = (" ".join(cells[at : at + shape.columns]) for at in range(0, n, shape.columns))
        lines.append("│ " + " │ ".join(boxes) + " │")
    return "\n".join([*lines, bottom])


def digits(text: str, solution: Sequence[int]) -> str:  # noqa: ARG001 - other kinds need the puzzle
    """Return a solution as n × n characters, row by row; an invalid value becomes ``?``."""
    return "".join([SYMBOLS[v - 1] if 0 < v <= LARGEST else "?" for v in solution])


def assignment(text: str, digits: str) -> tuple[int, ...]:  # noqa: ARG001 - other kinds need the puzzle
    """Return the values that `digits` wrote; ``?`` becomes 0."""
    return tuple(SYMBOLS.find(symbol) + 1 for symbol in digits)


def permuted(text: str, random: Random) -> tuple[str, Restore]:
    """Apply a random symmetry of the grid: return the new text, and the function that maps its solutions back."""
    shape, start, end = shape_of(text)
    symmetry = symmetry_of(shape, random)
    cells = (SYMBOLS[v - 1] if v else "." for v in symmetry.apply(_clues.values(text[start:end], shape)))
    return text[:start] + "".join(cells) + text[end:], symmetry.undo


def name(text: str, variable: int) -> str:
    """Return the name of a cell: ``r1c5`` is the fifth cell of the first row."""
    return place(variable, shape_of(text)[0].n)


@lru_cache(maxsize=64)
def _rules(shape: Shape) -> Rules:
    domain = tuple(range(1, shape.n + 1))
    return Rules((domain,) * shape.n**2, tuple(AllDifferent(cells, role) for role, cells in units(shape)))
