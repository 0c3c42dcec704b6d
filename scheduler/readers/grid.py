"""Grids: one row per line, with or without drawn borders. Blank lines between grids are optional.

::

    # a comment just above is the label          *-----------*
    ..3.2.6..                                    |..3|.2.|6..|
    9..3.5..1                                    |9..|3.5|..1|

A line ``2x3:`` before a grid sets the shape of its boxes (rows × columns). A line such as ``X:`` selects a variant.
"""

from __future__ import annotations

import re
from collections.abc import Iterator
from dataclasses import dataclass, field
from math import isqrt
from typing import NamedTuple

from cagematch.scheduler.readers.entries import KIND, Misread, PuzzleEntry, declared_kind

WIDTHS = (4, 6, 8, 9, 10, 12, 15, 16, 20, 25, 30, 36)
UPRIGHT = "|│║┃!"
LEVEL = "+*=-_─═━┌┬┐├┼┤└┴┘╔╦╗╠╬╣╚╩╝╟╫╢╤╧╪"
BORDER = re.compile(rf"[\s{UPRIGHT}{re.escape(LEVEL)}]+")
SHAPE = re.compile(r"\s*((?:(?:[XWCxwc]|[0-9]+[xX][0-9]+):)+)\s*")
WORD = re.compile(r"\s*[^\W\d_]{2}")


class GridRow(NamedTuple):
    """A row of a grid: its line, its cells, and the column of each cell in the file."""

    line: int
    cells: str
    columns: tuple[int, ...]


@dataclass(slots=True)
class Grid:
    """The rows of a grid, with the shape and the label from the lines above it."""

    shape: str = ""
    label: str = ""
    rows: list[GridRow] = field(default_factory=list)


kind = declared_kind


def recognises(content: list[str]) -> bool:
    remaining = (line for line in content if line.strip() and not line.lstrip().startswith("#"))
    first = next((line for line in remaining if not _drawn(line)), "")
    width = len(_row(0, first).cells)
    if width in (16, 36):
        # Either a row of a grid, or a whole 4×4 or 6×6 puzzle, which has no value above 4 or 6.
        large = re.compile(rf"[^0-{isqrt(width)}.*_-]")
        rows = (_row(0, line).cells for line in (first, *remaining))
        return any(large.search(row) for row in rows if len(row) == width)
    return width in WIDTHS or SHAPE.fullmatch(first) is not None


def read(content: list[str]) -> Iterator[PuzzleEntry | Misread]:
    for found in _grids(content):
        yield found if isinstance(found, Misread) else _fault(found) or _entry(found)


def _grids(content: list[str]) -> Iterator[Grid | Misread]:
    """Yield a grid when it has as many rows as its first row has cells, or at a line that is no row."""
    blanks, widths = _clued_rows(content)
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
            yield Misread(number, None, f"found {bare[:20]!r}, expected a row of a grid; start labels with #")
        elif bare and not _border(line, blanks, {len(grid.rows[0].cells)} if grid.rows else widths):
            grid.rows.append(_row(number, line))
            if len(grid.rows) == len(grid.rows[0].cells):
                yield grid
                grid = Grid()
    if grid.rows:
        yield grid


def _fault(grid: Grid) -> Misread | None:
    first = grid.rows[0]
    width = len(first.cells)
    if width not in WIDTHS:
        return Misread(first.line, None, f"{width} cells in the first row of a grid, expected 9 (or 4, 6, 16, 25 …)")
    for line, cells, columns in grid.rows:
        if len(cells) != width:
            column = columns[width] if len(cells) > width else None
            return Misread(line, column, f"{len(cells)} cells, expected {width} as in line {first.line}")
    if len(grid.rows) != width:
        return Misread(first.line, None, f"{len(grid.rows)} rows in a grid {width} cells wide, expected {width}")
    return None


def _entry(grid: Grid) -> PuzzleEntry:
    places = [(row.line, column) for row in grid.rows for column in row.columns]
    text = grid.shape + "".join(row.cells for row in grid.rows)
    return PuzzleEntry(*places[0], text, grid.label, (places[0],) * len(grid.shape) + tuple(places))


def _row(number: int, line: str) -> GridRow:
    kept = [at for at, symbol in enumerate(line) if symbol not in UPRIGHT and not symbol.isspace()]
    return GridRow(number, "".join([line[at] for at in kept]), tuple(at + 1 for at in kept))


def _clued_rows(content: list[str]) -> tuple[set[str], set[int]]:
    """Return the border symbols that rows with clues use as blanks, and the widths of these rows."""
    rows = [line for line in content if "#" not in line and any(map(str.isalnum, line))]
    blanks = {symbol for symbol in "-*_" if any(symbol in row for row in rows)}
    return blanks, {len(_row(0, row).cells) for row in rows} if blanks else set()


def _border(line: str, blanks: set[str], widths: set[int]) -> bool:
    """Whether a line is a drawn border. A line of blanks as wide as the rows with clues is a row."""
    if not _drawn(line):
        return False
    cells = _row(0, line).cells
    return not (len(set(cells)) == 1 and cells[0] in blanks and len(cells) in widths)


def _drawn(line: str) -> bool:
    return BORDER.fullmatch(line) is not None and any(symbol in LEVEL for symbol in line)
