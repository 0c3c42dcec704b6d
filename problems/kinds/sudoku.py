"""Sudoku of any box shape.

A grid has n rows and n columns, and boxes of R rows by C columns with R × C = n; rows, columns and boxes
hold each of 1 … n once. Cells are numbered row by row from 0; a *unit* is a row, column or box.

Text form: n × n characters row by row. Values are written 1-9, then A-Z, then 0 for 36 (only there is 0 a
value); blanks are ``.`` (canonical), ``*``, ``_``, ``-`` and, up to n = 9, ``0``. Where n is a square the
boxes are square unless a prefix says otherwise; elsewhere the prefix is needed, as no box shape follows
from n = 6: ``2x3:`` has 2 rows and 3 columns a box.
"""

from __future__ import annotations

import re
from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from functools import lru_cache
from math import isqrt
from operator import getitem

from problems.constraints import AllDifferent
from problems.errors import PuzzleError
from problems.problem import Problem, Rules

SYMBOLS = "123456789ABCDEFGHIJKLMNOPQRSTUVWXYZ0"
BLANKS = ".*_-"
LARGEST = len(SYMBOLS)
PREFIX = re.compile(r"([1-9][0-9]?)[xX]([1-9][0-9]?):")


@dataclass(frozen=True, slots=True)
class Shape:
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


def parse(text: str) -> str:
    """Return the canonical text; raise PuzzleError with the offset of what is wrong."""
    shape, start = _shape(text)
    table = _table(shape)
    body = text[start:]
    canonical = body.translate(table.canonical)
    cells = canonical.encode("latin-1", "replace").translate(table.value)
    # One addition per cell counts every value in every unit; a count above one sets a bit of `repeated`.
    try:
        repeated = sum(map(getitem, table.counts, cells)) & table.repeated
    except IndexError:
        repeated = 1
    if repeated or (shape.n > 9 and _doubtful(canonical)):
        raise _fault(body, start, shape)
    return shape.prefix + canonical


def problem(text: str) -> Problem:
    """State the rules as one AllDifferent a unit, and the clues as givens."""
    shape, start = _shape(text)
    table = _table(shape)
    cells = text[start:].encode("latin-1").translate(table.value)
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
    """
    shape, start = _shape(text)
    n = shape.n
    body = text[start:] if solution is None else digits(text, solution)
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
    """Write a solution as n × n characters, row by row; ``?`` stands for a value that is none."""
    return "".join([SYMBOLS[v - 1] if 0 < v <= LARGEST else "?" for v in solution])


def assignment(text: str, digits: str) -> tuple[int, ...]:  # noqa: ARG001 - other kinds need the puzzle
    """Read back what ``digits`` wrote; 0 where it wrote ``?``."""
    return tuple(SYMBOLS.find(symbol) + 1 for symbol in digits)


def name(text: str, variable: int) -> str:
    """``r1c5`` is the fifth cell of the first row."""
    row, column = divmod(variable, _shape(text)[0].n)
    return f"r{row + 1}c{column + 1}"


def _shape(text: str) -> tuple[Shape, int]:
    """The box shape that a text has, and where its cells begin."""
    if len(text) == 81:
        return _SQUARE_9, 0
    if found := PREFIX.match(text):
        shape, start = Shape(int(found[1]), int(found[2])), found.end()
        cells = len(text) - start
        if shape.n > LARGEST:
            raise PuzzleError(f"boxes of {found[1]}x{found[2]} make more than {LARGEST} values", 0)
        if cells != shape.n**2:
            raise PuzzleError(f"{cells} cells, expected {shape.n**2} for boxes of {found[1]}x{found[2]}")
        return shape, start
    n = isqrt(len(text))
    box = isqrt(n)
    if n * n != len(text) or not 4 <= n <= LARGEST:
        sizes = "81 (or 16, 256, 625)"
        raise PuzzleError(f"{len(text)} characters, expected {sizes}")
    if box * box != n:
        shapes = " or ".join(f"{r}x{n // r}:" for r in range(2, n) if n % r == 0) or "none fits"
        raise PuzzleError(f"{len(text)} characters: a {n}×{n} grid needs its box shape in front ({shapes})")
    return Shape(box, box), 0


_SQUARE_9 = Shape(3, 3)


@dataclass(frozen=True)
class _Table:
    """What parsing needs to know of a shape, worked out once."""

    canonical: dict[int, str]
    value: bytes
    counts: tuple[tuple[int, ...], ...]
    repeated: int


@lru_cache(maxsize=32)
def _table(shape: Shape) -> _Table:
    n = shape.n
    canonical = {ord(blank): "." for blank in BLANKS}
    canonical |= {ord(symbol.lower()): symbol for symbol in SYMBOLS[9:n]}
    if n <= 9:
        canonical[ord("0")] = "."
    value = bytearray([n + 1] * 256)  # no value: makes the look-up in `counts` fail
    value[ord(".")] = 0
    for at, symbol in enumerate(SYMBOLS[:n]):
        value[ord(symbol)] = at + 1
    width = n.bit_length() + 1
    counts: list[list[int]] = [[0] * (n + 1) for _ in range(n * n)]
    fields = 0
    for unit, (_, cells) in enumerate(_units(shape)):
        for v in range(1, n + 1):
            at = (unit * n + v - 1) * width
            fields |= ((1 << width) - 2) << at
            for cell in cells:
                counts[cell][v] |= 1 << at
    return _Table(canonical, bytes(value), tuple(map(tuple, counts)), fields)


def _units(shape: Shape) -> Iterator[tuple[str, tuple[int, ...]]]:
    """Every unit as its role and its cells: rows, then columns, then boxes."""
    n, rows, columns = shape.n, shape.rows, shape.columns
    for row in range(n):
        yield "row", tuple(range(row * n, row * n + n))
    for column in range(n):
        yield "column", tuple(range(column, n * n, n))
    for box in range(n):
        top, left = box // rows * rows, box % rows * columns
        yield "box", tuple((top + r) * n + left + c for r in range(rows) for c in range(columns))


@lru_cache(maxsize=32)
def _rules(shape: Shape) -> Rules:
    domain = tuple(range(1, shape.n + 1))
    return Rules((domain,) * shape.n**2, tuple(AllDifferent(cells, role) for role, cells in _units(shape)))


def _doubtful(canonical: str) -> bool:
    """Whether only letters occur: a grid of A-Y looks like one of 1-9A-P, and means another puzzle."""
    symbols = set(canonical) - {"."}
    return bool(symbols) and not any(symbol.isdigit() for symbol in symbols)


def _fault(body: str, start: int, shape: Shape) -> PuzzleError:
    """Find what ``parse`` stumbled over, slowly and in words."""
    n = shape.n
    alphabet = f"1-{n}" if n <= 9 else f"1-9 and A-{SYMBOLS[min(n, 35) - 1]}" + (" and 0" if n == 36 else "")
    blanks = ". * _ - or 0" if n <= 9 else ". * _ or -"
    for offset, symbol in enumerate(body):
        value = SYMBOLS.find(symbol.upper()) + 1
        if symbol in BLANKS or 1 <= value <= n or (symbol == "0" and n <= 9):
            continue
        hint = " (0 would be a value to some and a blank to others)" if symbol == "0" else ""
        return PuzzleError(f"{symbol!r} where {alphabet} or a blank ({blanks}) was expected{hint}", start + offset)
    for role, cells in _units(shape):
        seen: dict[str, int] = {}
        for cell in cells:
            symbol = body[cell].upper()
            if symbol in BLANKS or (symbol == "0" and n <= 9):
                continue
            if symbol in seen:
                first, second = _place(seen[symbol], n), _place(cell, n)
                unit = {"row": cell // n, "column": cell % n}.get(role, _box(cell, shape)) + 1
                return PuzzleError(f"{symbol} stands twice in {role} {unit} ({first} and {second})", start + cell)
            seen[symbol] = cell
    return PuzzleError(f"only letters as clues: is A 10 or 1? Write the values of a {n}×{n} grid as {alphabet}")


def _place(cell: int, n: int) -> str:
    return f"r{cell // n + 1}c{cell % n + 1}"


def _box(cell: int, shape: Shape) -> int:
    row, column = divmod(cell, shape.n)
    return row // shape.rows * shape.rows + column // shape.columns
