"""One row a line, with or without drawn borders; grids follow one another, with or without blank lines between.

::

    # a comment just above is the label          *-----------*
    ..3.2.6..                                    |..3|.2.|6..|
    9..3.5..1                                    |9..|3.5|..1|

A line ``2x3:`` before a grid gives the shape of its boxes (rows x columns); one like ``X:`` says what holds besides.
"""

from __future__ import annotations

import re
from collections.abc import Iterator
from dataclasses import dataclass, field
from math import isqrt
from typing import NamedTuple

from cagematch.scheduler.readers.entries import KIND, Misread, PuzzleEntry, told_kind

WIDTHS = (4, 6, 8, 9, 10, 12, 15, 16, 20, 25, 30, 36)
UPRIGHT = "|│║┃!"
LEVEL = "+*=-_─═━┌┬┐├┼┤└┴┘╔╦╗╠╬╣╚╩╝╟╫╢╤╧╪"
BORDER = re.compile(rf"[\s{UPRIGHT}{re.escape(LEVEL)}]+")
SHAPE = re.compile(r"\s*((?:(?:[XWCxwc]|[0-9]+[xX][0-9]+):)+)\s*")
WORD = re.compile(r"\s*[^\W\d_]{2}")


class GridRow(NamedTuple):
    """A row of a grid: its line, its cells, and the column of each."""

    line: int
    cells: str
    columns: tuple[int, ...]


@dataclass(slots=True)
class Grid:
    """The rows that belong together, and what stood above them."""

    shape: str = ""
    label: str = ""
    rows: list[GridRow] = field(default_factory=list)


kind = told_kind


def recognises(content: list[str]) -> bool:
    told = (line for line in content if line.strip() and not line.lstrip().startswith("#"))
    first = next((line for line in told if not _drawn(line)), "")
    width = len(_row(0, first).cells)
    if width in (16, 36):
        # A row of a grid, or a whole 4×4 or 6×6 puzzle? A value above 4 or 6 somewhere tells.
        large = re.compile(rf"[^0-{isqrt(width)}.*_-]")
        rows = (_row(0, line).cells for line in (first, *told))
        return any(large.search(row) for row in rows if len(row) == width)
    return width in WIDTHS or SHAPE.fullmatch(first) is not None


def read(content: list[str]) -> Iterator[PuzzleEntry | Misread]:
    for found in _grids(content):
        yield found if isinstance(found, Misread) else _misfit(found) or _entry(found)


def _grids(content: list[str]) -> Iterator[Grid | Misread]:
    """Rows until there are as many as the first has cells, or until a line that is none."""
    blanks, widths = _rows_like(content)
    grid = Grid()
    for number, line in enumerate(content, 1):
        bare = line.strip()
        shape = SHAPE.fullmatch(line)
        if grid.rows and (not bare or bare.startswith("#") or shape):
            yield grid
            grid = Grid()
        if shape:
            grid.shape = shape[1]
        elif KIND.fullmatch(line):
            continue
        elif bare.startswith("#"):
            grid.label = bare.lstrip("# ")
        elif not grid.rows and WORD.match(line) and len(_row(0, line).cells) <= 9:
            yield Misread(number, None, f"found {bare[:20]!r}, expected a row of a grid (labels start with #)")
        elif bare and not _border(line, blanks, {len(grid.rows[0].cells)} if grid.rows else widths):
            grid.rows.append(_row(number, line))
            if len(grid.rows) == len(grid.rows[0].cells):
                yield grid
                grid = Grid()
    if grid.rows:
        yield grid


def _misfit(grid: Grid) -> Misread | None:
    first = grid.rows[0]
    width = len(first.cells)
    if width not in WIDTHS:
        return Misread(first.line, None, f"{width} cells in a grid's first row, expected 9 (or 4, 6, 16, 25 …)")
    for line, cells, columns in grid.rows:
        if len(cells) != width:
            column = columns[width] if len(cells) > width else None
            return Misread(line, column, f"{len(cells)} cells, expected {width} as in line {first.line}")
    if len(grid.rows) != width:
        return Misread(first.line, None, f"a grid {width} cells wide has {len(grid.rows)} rows, expected {width}")
    return None


def _entry(grid: Grid) -> PuzzleEntry:
    places = [(row.line, column) for row in grid.rows for column in row.columns]
    text = grid.shape + "".join(row.cells for row in grid.rows)
    return PuzzleEntry(*places[0], text, grid.label, (places[0],) * len(grid.shape) + tuple(places))


def _row(number: int, line: str) -> GridRow:
    kept = [at for at, symbol in enumerate(line) if symbol not in UPRIGHT and not symbol.isspace()]
    return GridRow(number, "".join([line[at] for at in kept]), tuple(at + 1 for at in kept))


def _rows_like(content: list[str]) -> tuple[set[str], set[int]]:
    """What rows with clues tell of the others: which symbols are blanks and no border, and how wide rows are."""
    rows = [line for line in content if "#" not in line and any(map(str.isalnum, line))]
    blanks = {symbol for symbol in "-*_" if any(symbol in row for row in rows)}
    return blanks, {len(_row(0, row).cells) for row in rows} if blanks else set()


def _border(line: str, blanks: set[str], widths: set[int]) -> bool:
    """Whether a line is drawn, not a row: one of blanks alone is a row where it is as wide as the others."""
    if not _drawn(line):
        return False
    cells = _row(0, line).cells
    return not (len(set(cells)) == 1 and cells[0] in blanks and len(cells) in widths)


def _drawn(line: str) -> bool:
    return BORDER.fullmatch(line) is not None and any(symbol in LEVEL for symbol in line)
