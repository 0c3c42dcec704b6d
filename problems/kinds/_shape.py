"""The shape of a Sudoku grid: the prefix of a text, and the units of the grid.

A grid has n rows and n columns, and either boxes of R rows by C columns with R × C = n, or regions of n cells each.
Cells are numbered row by row from 0. A *unit* is a row, column, box and so on; it contains each of 1 … n exactly once.
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
    """A shape.

    Parameters
    ----------
    rows, columns
        The size of a box in cells.
    options
        The letters of the additional units, a subset of OPTIONS.
    regions
        One letter per cell in a jigsaw; empty in a grid with boxes.
    """

    rows: int
    columns: int
    options: str = ""
    regions: str = ""

    @property
    def n(self) -> int:
        """The number of rows, of columns and of values."""
        return self.rows * self.columns

    @property
    def prefix(self) -> str:
        """The prefix of a canonical text; empty for square boxes without options."""
        options = "".join(f"{option}:" for option in self.options)
        if self.regions:
            return f"{options}{JIGSAW}:"
        return options + ("" if self.rows == self.columns else f"{self.rows}x{self.columns}:")


SQUARE_9 = Shape(3, 3)


def shape_of(text: str) -> tuple[Shape, int, int]:
    """Determine the shape of a text.

    Returns
    -------
    tuple[Shape, int, int]
        The shape, and the offsets where the cells start and end.

    Raises
    ------
    PuzzleError
        The prefix is invalid, or no shape fits the length of the text.
    """
    if len(text) == 81:
        return SQUARE_9, 0, 81
    if text.startswith("{"):
        form = 'in JSON lines, write {"puzzle": "53..7…"}, with "kind" for other kinds than Sudoku'
        raise PuzzleError(f"found an object, expected the cells as a string; {form}", 0)
    letters, box, start = _prefixes(text)
    options = "".join(option for option in OPTIONS if option in letters)
    count = len(text) - start
    if JIGSAW in letters:
        regions = regions_of(text, start, LARGEST)
        shape = _regular(regions, options) or Shape(1, isqrt(len(regions)), options, regions)
    elif box:
        shape = _with_boxes(*box, count)._replace(options=options)
    else:
        shape = _square(count)._replace(options=options)
    _check(shape, text[:start])
    return shape, start, start + shape.n**2


def units(shape: Shape) -> Iterator[tuple[str, tuple[int, ...]]]:
    """Yield the role and cells of each unit: rows, columns, boxes or regions, and the units of the options."""
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
    """Return the name of a cell: ``r1c5`` is the fifth cell of the first row."""
    row, column = divmod(cell, n)
    return f"r{row + 1}c{column + 1}"


def options_line(shape: Shape) -> str:
    """Return a line that names the additional units, to follow a drawing; empty without options."""
    added = ", ".join(OPTIONS[option] for option in shape.options)
    return f"\n{added} also contain every value" if added else ""


def _block(top: int, left: int, shape: Shape) -> tuple[int, ...]:
    return tuple((top + r) * shape.n + left + c for r in range(shape.rows) for c in range(shape.columns))


def _prefixes(text: str) -> tuple[str, tuple[int, int] | None, int]:
    """Return the letters of the prefix, its box shape if there is one, and the offset of the cells."""
    letters, box, start = "", None, 0
    while found := PREFIX.match(text, start):
        letter = (found[1] or "").upper()
        if letter in letters if letter else box:
            raise PuzzleError(f"found {found[0]} twice in the prefix, expected it once", start)
        letters += letter
        box = box if letter else (int(found[2]), int(found[3]))
        start = found.end()
    if box and JIGSAW in letters:
        raise PuzzleError(f"found box shape {box[0]}x{box[1]}: in a jigsaw (J:), expected regions only", 0)
    return letters, box, start


def _with_boxes(rows: int, columns: int, cells: int) -> Shape:
    shape = Shape(rows, columns)
    if shape.n > LARGEST:
        raise PuzzleError(f"boxes of {rows}x{columns} have {shape.n} values, expected at most {LARGEST}", 0)
    if cells != shape.n**2:
        raise PuzzleError(f"found {cells} cells, expected {shape.n**2} for boxes of {rows}x{columns}")
    return shape


def _square(cells: int) -> Shape:
    n = isqrt(cells)
    box = isqrt(n)
    boxes = [f"{rows}x{n // rows}:" for rows in range(2, n) if n % rows == 0]
    found = "found 1 character" if cells == 1 else f"found {cells} characters"
    if n * n != cells or not boxes or n > LARGEST:
        raise PuzzleError(f"{found}, expected 81 (or 16, 256, 625, 1296)")
    if box * box != n:
        raise PuzzleError(f"{found}, expected a box shape in front of a {n}×{n} grid ({' or '.join(boxes)})")
    return Shape(box, box)


def _regular(regions: str, options: str) -> Shape | None:
    """Return the shape with boxes that equals the regions, if there is one: a puzzle has one canonical text."""
    n = isqrt(len(regions))
    for shape in (Shape(rows, n // rows, options) for rows in range(1, n + 1) if n % rows == 0):
        if as_regions([cell // n // shape.rows * n + cell % n // shape.columns for cell in range(n * n)]) == regions:
            return shape
    return None


def _check(shape: Shape, prefix: str) -> None:
    if "W" in shape.options and (shape.regions or shape.rows != shape.columns):
        raise PuzzleError(f"found prefix {prefix!r}, expected square boxes for windows (W:)", 0)
    if "C" in shape.options and (shape.regions or shape.n % 2 == 0):
        raise PuzzleError(f"found prefix {prefix!r}, expected boxes with a centre cell for centre dots (C:)", 0)
