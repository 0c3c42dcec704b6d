"""The shape of a Sudoku grid: which box shape a text has, and which cells make up its units.

A grid has n rows and n columns, and boxes of R rows by C columns with R × C = n. Cells are numbered row by row
from 0; a *unit* is a row, column or box, and holds each of 1 … n once.
"""

from __future__ import annotations

import re
from collections.abc import Iterator
from math import isqrt
from typing import NamedTuple

from problems.errors import PuzzleError

SYMBOLS = "123456789ABCDEFGHIJKLMNOPQRSTUVWXYZ0"
LARGEST = len(SYMBOLS)
PREFIX = re.compile(r"([1-9][0-9]?)[xX]([1-9][0-9]?):")


class Shape(NamedTuple):
    """Box rows and box columns."""

    rows: int
    columns: int

    @property
    def n(self) -> int:
        """Rows of the grid, columns of the grid, and values."""
        return self.rows * self.columns

    @property
    def prefix(self) -> str:
        """What the canonical text starts with; nothing for square boxes."""
        return "" if self.rows == self.columns else f"{self.rows}x{self.columns}:"


SQUARE_9 = Shape(3, 3)


def shape_of(text: str) -> tuple[Shape, int]:
    """The box shape that a text has, and where its cells begin; PuzzleError when no shape fits its length."""
    if len(text) == 81:
        return SQUARE_9, 0
    if found := PREFIX.match(text):
        return _told(int(found[1]), int(found[2]), len(text) - found.end()), found.end()
    n = isqrt(len(text))
    box = isqrt(n)
    boxes = [f"{rows}x{n // rows}:" for rows in range(2, n) if n % rows == 0]
    if n * n != len(text) or not boxes or n > LARGEST:
        raise PuzzleError(f"{_characters(len(text))}, expected 81 (or 16, 256, 625, 1296)")
    if box * box != n:
        choice = " or ".join(boxes)
        raise PuzzleError(f"{len(text)} characters: a {n}×{n} grid needs its box shape in front ({choice})")
    return Shape(box, box), 0


def units(shape: Shape) -> Iterator[tuple[str, tuple[int, ...]]]:
    """Every unit as its role and its cells: rows, then columns, then boxes."""
    n, rows, columns = shape.n, shape.rows, shape.columns
    for row in range(n):
        yield "row", tuple(range(row * n, row * n + n))
    for column in range(n):
        yield "column", tuple(range(column, n * n, n))
    for box in range(n):
        top, left = box // rows * rows, box % rows * columns
        yield "box", tuple((top + r) * n + left + c for r in range(rows) for c in range(columns))


def place(cell: int, n: int) -> str:
    """``r1c5`` is the fifth cell of the first row."""
    row, column = divmod(cell, n)
    return f"r{row + 1}c{column + 1}"


def _told(rows: int, columns: int, cells: int) -> Shape:
    shape = Shape(rows, columns)
    if shape.n > LARGEST:
        raise PuzzleError(f"boxes of {rows}x{columns} hold {shape.n} values, expected at most {LARGEST}", 0)
    if cells != shape.n**2:
        raise PuzzleError(f"{cells} cells, expected {shape.n**2} for boxes of {rows}x{columns}")
    return shape


def _characters(count: int) -> str:
    return "1 character" if count == 1 else f"{count} characters"
