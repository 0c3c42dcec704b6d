"""The grid of a puzzle in JSON, converted to a text of the kind `sudoku`."""

from __future__ import annotations

from math import isqrt
from typing import Any

from cagematch.problems.errors import PuzzleError
from cagematch.problems.kinds import sudoku
from cagematch.problems.kinds._shape import LARGEST, SYMBOLS


def grid_of(fields: dict[str, Any]) -> str:
    """Return the canonical text of ``grid``, or of ``n``, ``box``, ``diagonal`` and ``givens`` without it.

    Raises
    ------
    PuzzleError
        A field has an invalid value, or the grid is invalid.
    """
    if "grid" in fields:
        grid = fields["grid"]
        if not isinstance(grid, str):
            raise PuzzleError(f'"grid" is {str(grid)[:30]}, expected a string with a text of the kind sudoku')
    else:
        grid = _assembled(fields)
    try:
        return sudoku.parse(grid)
    except PuzzleError as error:
        raise PuzzleError(f"grid: {error}") from None


def _assembled(fields: dict[str, Any]) -> str:
    box, diagonal = fields.get("box"), fields.get("diagonal", fields.get("diagonals"))
    if box is not None and not (isinstance(box, list) and [type(part) for part in box] == [int, int] and min(box) > 0):
        raise PuzzleError(f'"box" is {box!r}, expected [rows, columns]')
    if diagonal not in (None, True, False):
        raise PuzzleError(f'"diagonal" is {diagonal!r}, expected true or false')
    cells = _cells(fields.get("givens"))
    n = fields.get("n") or (box[0] * box[1] if box else isqrt(len(cells)) or 9)
    if type(n) is not int or not 1 < n <= LARGEST:
        raise PuzzleError(f'"n" is {n!r}, expected the number of rows, from 2 to {LARGEST}')
    if box and box[0] * box[1] != n:
        raise PuzzleError(f"found boxes of {box[0]}x{box[1]}, expected {n} cells per box in a grid of {n} rows")
    prefix = ("X:" if diagonal else "") + (f"{box[0]}x{box[1]}:" if box else "")
    return prefix + (cells or "." * n * n)


def _cells(givens: Any) -> str:
    """Return the cells of ``givens``, which is None, a string or a list of rows."""
    if givens is None or isinstance(givens, str):
        return givens or ""
    if not isinstance(givens, list):
        raise PuzzleError(f'"givens" is {str(givens)[:30]}, expected a string or a list of rows')
    return "".join(_row(number, row) for number, row in enumerate(givens, 1))


def _row(number: int, row: Any) -> str:
    if isinstance(row, str):
        row = row.split() if " " in row.strip() else list(row)
    if not isinstance(row, list):
        raise PuzzleError(f'row {number} of "givens" is {str(row)[:30]}, expected a string or a list')
    return "".join(_symbol(number, cell) for cell in row)


def _symbol(number: int, cell: Any) -> str:
    text = "." if cell in (None, 0, "0") else str(cell)
    if text.isascii() and text.isdigit() and 0 < int(text[:3]) <= LARGEST:
        return SYMBOLS[int(text[:3]) - 1]
    if len(text) != 1:
        raise PuzzleError(f'found {text[:9]!r} in row {number} of "givens", expected a number or a blank')
    return text
