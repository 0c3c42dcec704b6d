"""The shape of a Sudoku grid: what stands in front of a text, and which cells make up its units.

A grid has n rows and n columns, and boxes of R rows by C columns with R × C = n, or regions of n cells each. Cells are
numbered row by row from 0; a *unit* is a row, column, box and so on, and holds each of 1 … n once.
"""

from __future__ import annotations

import re
from collections.abc import Iterator
from math import isqrt
from typing import NamedTuple

from cagematch.problems.errors import PuzzleError
from cagematch.problems.kinds._regions import as_regions, regions_of

SYMBOLS = "123456789ABCDEFGHIJKLMNOPQRSTUVWXYZ0"
LARGEST = len(SYMBOLS)
OPTIONS = {"X": "diagonals", "W": "windows", "C": "centre dots"}
JIGSAW = "J"
PREFIX = re.compile(r"(?:([XWCJ])|([1-9][0-9]?)X([1-9][0-9]?)):", re.IGNORECASE | re.ASCII)


class Shape(NamedTuple):
    """Box rows and box columns; the OPTIONS that hold besides; a letter a cell where regions stand for boxes."""

    rows: int
    columns: int
    options: str = ""
    regions: str = ""

    @property
    def n(self) -> int:
        """Rows of the grid, columns of the grid, and values."""
        return self.rows * self.columns

    @property
    def prefix(self) -> str:
        """What the canonical text starts with; nothing for square boxes without options."""
        options = "".join(f"{option}:" for option in self.options)
        if self.regions:
            return f"{options}{JIGSAW}:"
        return options + ("" if self.rows == self.columns else f"{self.rows}x{self.columns}:")


SQUARE_9 = Shape(3, 3)


def shape_of(text: str) -> tuple[Shape, int, int]:
    """The shape that a text has, and where its cells begin and end; PuzzleError when none fits its length."""
    if len(text) == 81:
        return SQUARE_9, 0, 81
    if text.startswith("{"):
        told = 'in JSON lines {"puzzle": "53..7…"}, with "kind" where it is no Sudoku'
        raise PuzzleError(f"found an object, expected the cells as a text: {told}", 0)
    letters, box, start = _prefixes(text)
    options = "".join(option for option in OPTIONS if option in letters)
    count = len(text) - start
    if JIGSAW in letters:
        regions = regions_of(text, start, LARGEST)
        shape = _regular(regions, options) or Shape(1, isqrt(len(regions)), options, regions)
    elif box:
        shape = _told(*box, count)._replace(options=options)
    else:
        shape = _square(count)._replace(options=options)
    _check(shape, text[:start])
    return shape, start, start + shape.n**2


def units(shape: Shape) -> Iterator[tuple[str, tuple[int, ...]]]:
    """Every unit as its role and its cells: rows, then columns, then boxes or regions, then what the options add."""
    n, rows, columns, options, regions = shape.n, *shape
    for row in range(n):
        yield "row", tuple(range(row * n, row * n + n))
    for column in range(n):
        yield "column", tuple(range(column, n * n, n))
    for letter in dict.fromkeys(regions):
        yield "region", tuple(cell for cell, its in enumerate(regions) if its == letter)
    for box in range(0 if regions else n):
        yield "box", _block(box // rows * rows, box % rows * columns, shape)
    if "X" in options:
        yield "diagonal", tuple(range(0, n * n, n + 1))
        yield "diagonal", tuple(range(n - 1, n * n - 1, n - 1))
    if "W" in options:
        corners = range(1, n - rows, rows + 1)
        yield from (("window", _block(top, left, shape)) for top in corners for left in corners)
    if "C" in options:
        tops, lefts = range(rows // 2, n, rows), range(columns // 2, n, columns)
        yield "centre", tuple(top * n + left for top in tops for left in lefts)


def place(cell: int, n: int) -> str:
    """``r1c5`` is the fifth cell of the first row."""
    row, column = divmod(cell, n)
    return f"r{row + 1}c{column + 1}"


def besides(shape: Shape) -> str:
    """A line about what the options add, for below a drawing; nothing when there are none."""
    added = ", ".join(OPTIONS[option] for option in shape.options)
    return f"\n{added} hold every value, too" if added else ""


def _block(top: int, left: int, shape: Shape) -> tuple[int, ...]:
    return tuple((top + r) * shape.n + left + c for r in range(shape.rows) for c in range(shape.columns))


def _prefixes(text: str) -> tuple[str, tuple[int, int] | None, int]:
    """The letters in front, the box shape if there is one, and what is left of the text."""
    letters, box, start = "", None, 0
    while found := PREFIX.match(text, start):
        letter = (found[1] or "").upper()
        if letter in letters if letter else box:
            raise PuzzleError(f"{found[0]} stands twice in front of the cells", start)
        letters += letter
        box = box if letter else (int(found[2]), int(found[3]))
        start = found.end()
    if box and JIGSAW in letters:
        raise PuzzleError("a jigsaw (J:) has regions, expected no box shape in front", 0)
    return letters, box, start


def _told(rows: int, columns: int, cells: int) -> Shape:
    shape = Shape(rows, columns)
    if shape.n > LARGEST:
        raise PuzzleError(f"boxes of {rows}x{columns} hold {shape.n} values, expected at most {LARGEST}", 0)
    if cells != shape.n**2:
        raise PuzzleError(f"{cells} cells, expected {shape.n**2} for boxes of {rows}x{columns}")
    return shape


def _square(cells: int) -> Shape:
    n = isqrt(cells)
    box = isqrt(n)
    boxes = [f"{rows}x{n // rows}:" for rows in range(2, n) if n % rows == 0]
    told = "1 character" if cells == 1 else f"{cells} characters"
    if n * n != cells or not boxes or n > LARGEST:
        raise PuzzleError(f"{told}, expected 81 (or 16, 256, 625, 1296)")
    if box * box != n:
        raise PuzzleError(f"{told}: a {n}×{n} grid needs its box shape in front ({' or '.join(boxes)})")
    return Shape(box, box)


def _regular(regions: str, options: str) -> Shape | None:
    """The boxes that the regions are, if they are boxes: the puzzle must not have two texts."""
    n = isqrt(len(regions))
    for shape in (Shape(rows, n // rows, options) for rows in range(1, n + 1) if n % rows == 0):
        if as_regions([cell // n // shape.rows * n + cell % n // shape.columns for cell in range(n * n)]) == regions:
            return shape
    return None


def _check(shape: Shape, prefix: str) -> None:
    if "W" in shape.options and (shape.regions or shape.rows != shape.columns):
        raise PuzzleError(f"windows (W:) need square boxes, found {prefix!r} in front", 0)
    if "C" in shape.options and (shape.regions or shape.n % 2 == 0):
        raise PuzzleError(f"centre dots (C:) need boxes with a centre, found {prefix!r} in front", 0)
