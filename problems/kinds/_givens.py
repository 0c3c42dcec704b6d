"""The grid of a puzzle that comes as JSON, as a text of the kind `sudoku`."""

from __future__ import annotations

from math import isqrt
from typing import Any

from cagematch.problems.errors import PuzzleError
from cagematch.problems.kinds import sudoku
from cagematch.problems.kinds._shape import LARGEST, SYMBOLS


def grid_of(told: dict[str, Any]) -> str:
    """The canonical text of ``grid``, or else of ``n``, ``box``, ``diagonal`` and ``givens``."""
    if "grid" in told:
        grid = told["grid"]
        if not isinstance(grid, str):
            raise PuzzleError('"grid" is no text, expected one of the kind sudoku')
    else:
        grid = _put_together(told)
    try:
        return sudoku.parse(grid)
    except PuzzleError as error:
        raise PuzzleError(f"grid: {error}") from None


def _put_together(told: dict[str, Any]) -> str:
    box, diagonal = told.get("box"), told.get("diagonal", told.get("diagonals"))
    if box is not None and not (isinstance(box, list) and [type(part) for part in box] == [int, int] and min(box) > 0):
        raise PuzzleError(f'"box" is {box!r}, expected [rows, columns]')
    if diagonal not in (None, True, False):
        raise PuzzleError(f'"diagonal" is {diagonal!r}, expected true or false')
    cells = _cells(told.get("givens"))
    n = told.get("n") or (box[0] * box[1] if box else isqrt(len(cells)) or 9)
    if type(n) is not int or not 1 < n <= LARGEST:
        raise PuzzleError(f'"n" is {n!r}, expected how many rows there are, {LARGEST} at most')
    if box and box[0] * box[1] != n:
        raise PuzzleError(f"boxes of {box[0]}x{box[1]} in a grid of {n} rows, expected {n} cells a box")
    prefix = ("X:" if diagonal else "") + (f"{box[0]}x{box[1]}:" if box else "")
    return prefix + (cells or "." * n * n)


def _cells(givens: Any) -> str:
    """The cells of ``givens``: nothing, a string, or rows of them."""
    if givens is None or isinstance(givens, str):
        return givens or ""
    if not isinstance(givens, list):
        raise PuzzleError('"givens" are expected as a string, or as a list of rows')
    return "".join(_row(number, row) for number, row in enumerate(givens, 1))


def _row(number: int, row: Any) -> str:
    if isinstance(row, str):
        row = row.split() if " " in row.strip() else list(row)
    if not isinstance(row, list):
        raise PuzzleError(f'row {number} of "givens" is no row, expected a string or a list')
    return "".join(_symbol(number, cell) for cell in row)


def _symbol(number: int, cell: Any) -> str:
    told = "." if cell in (None, 0, "0") else str(cell)
    if told.isascii() and told.isdigit() and 0 < int(told[:3]) <= LARGEST:
        return SYMBOLS[int(told[:3]) - 1]
    if len(told) != 1:
        raise PuzzleError(f'{told[:9]!r} in row {number} of "givens", expected a number or a blank')
    return told
