"""One row a line, with or without drawn borders; grids follow one another, with or without blank lines between.

::

    # a comment just above is the label          *-----------*
    ..3.2.6..                                     |..3|.2.|6..|
    9..3.5..1                                     |9..|3.5|..1|

A line ``2x3:`` before a grid gives the shape of its boxes (rows x columns).
"""

from __future__ import annotations

import re
from collections.abc import Iterator

from scheduler.readers.entries import Entry, Misread

WIDTHS = (4, 6, 8, 9, 10, 12, 15, 16, 20, 25, 30, 36)
IN_DOUBT = (16, 36)  # a row of a 16×16 grid is as long as a whole 4×4 puzzle on a line
UPRIGHT = "|│║┃!"
RULE = re.compile(r"[\s|│║┃!+*=\-_─═━┌┬┐├┼┤└┴┘╔╦╗╠╬╣╚╩╝╟╫╢╤╧╪]+")
SHAPE = re.compile(r"\s*([0-9]+[xX][0-9]+:)\s*")
Row = tuple[int, str, tuple[int, ...]]  # line, cells, the column of each


def recognises(content: list[str]) -> bool:
    rows = [line for line in content if line.strip() and not line.lstrip().startswith("#")]
    if not rows:
        return False
    if _drawn(rows[0]) or SHAPE.fullmatch(rows[0]):
        return True
    width = len(_cells(1, rows[0])[1])
    if width in IN_DOUBT:
        return len(rows) >= width and all(len(_cells(1, row)[1]) == width for row in rows)
    return width in WIDTHS


def read(content: list[str]) -> Iterator[Entry | Misread]:
    rows: list[Row] = []
    shape = label = ""
    dashes = _blanks(content)
    for number, line in enumerate([*content, ""], 1):
        bare = line.strip()
        if found := SHAPE.fullmatch(line):
            shape = found[1]
        elif bare.startswith("#"):
            label = bare.lstrip("# ")
        elif _rule(line, dashes, len(rows[0][1]) if rows else 0):
            continue
        elif bare:
            rows.append(_cells(number, line))
            fault = _misfit(rows)
            if fault or len(rows) == len(rows[0][1]):
                yield fault or _entry(rows, shape, label)
                rows, shape, label = [], "", ""
        elif rows:
            yield Misread(rows[0][0], None, f"a grid {len(rows[0][1])} cells wide ends after {len(rows)} rows")
            rows, shape, label = [], "", ""


def _entry(rows: list[Row], shape: str, label: str) -> Entry:
    places = [(line, column) for line, _, columns in rows for column in columns]
    first = rows[0][0], rows[0][2][0]
    text = shape + "".join(cells for _, cells, _ in rows)
    return Entry(*first, text, label, tuple([first] * len(shape) + places))


def _misfit(rows: list[Row]) -> Misread | None:
    line, cells, _ = rows[-1]
    width = len(rows[0][1])
    if width not in WIDTHS:
        return Misread(line, None, f"{width} cells in the first row of a grid, expected 9 (or 4, 6, 16, 25 …)")
    if len(cells) != width:
        return Misread(line, None, f"{len(cells)} cells, expected {width} as in line {rows[0][0]}")
    return None


def _cells(number: int, line: str) -> Row:
    kept = [(column, symbol) for column, symbol in enumerate(line, 1) if symbol not in UPRIGHT and not symbol.isspace()]
    return number, "".join(symbol for _, symbol in kept), tuple(column for column, _ in kept)


def _blanks(content: list[str]) -> set[str]:
    """Those of ``-``, ``*`` and ``_`` that stand for blank cells: they occur in rows with clues."""
    return {
        symbol
        for line in content
        if any(c.isalnum() for c in line) and "#" not in line
        for symbol in "-*_"
        if symbol in line
    }


def _rule(line: str, blanks: set[str], width: int) -> bool:
    """Whether a line is drawn, not a row: one of blanks alone is a row where it is as wide as the others."""
    if not _drawn(line):
        return False
    cells = _cells(0, line)[1]
    return not (
        len(set(cells)) == 1 and cells[0] in blanks and (len(cells) == width or (not width and len(cells) in WIDTHS))
    )


def _drawn(line: str) -> bool:
    return (
        bool(line.strip())
        and RULE.fullmatch(line) is not None
        and any(symbol not in UPRIGHT for symbol in line.strip())
    )
