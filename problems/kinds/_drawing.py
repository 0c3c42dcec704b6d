"""Drawings of grids, with light or heavy borders between cells of different groups."""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence

NONE, LIGHT, HEAVY = range(3)
OUTSIDE = -1
WIDTH = 3
LEVEL, UPRIGHT = " ─━", " │┃"
# The junction of four borders is at index up + 3 × right + 9 × down + 27 × left, where each term is a weight.
JUNCTIONS = " ╵╹╶└┖╺┕┗╷│╿┌├┞┍┝┡╻╽┃┎┟┠┏┢┣" "╴┘┚─┴┸╼┶┺┐┤┦┬┼╀┮┾╄┒┧┨┰╁╂┲╆╊" "╸┙┛╾┵┹━┷┻┑┥┩┭┽╃┯┿╇┓┪┫┱╅╉┳╈╋"  # fmt: skip


def frame(lines: Sequence[str]) -> str:
    """Draw a border around lines of equal width."""
    bar = "─" * (len(lines[0]) + 2)
    return "\n".join([f"┌{bar}┐", *(f"│ {line} │" for line in lines), f"└{bar}┘"])


Weight = Callable[[int, int], int]  # the weight of the border between two cells, each may be OUTSIDE


def lattice(columns: int, cells: Sequence[str], weight: Weight, notes: Mapping[int, str] | None = None) -> str:
    """Draw cells row by row, each three characters wide.

    Parameters
    ----------
    columns
        The number of cells per row.
    cells
        The text of each cell.
    weight
        Returns the weight of the border between two cells: NONE, LIGHT or HEAVY.
    notes
        Texts by cell, drawn in the border above the cell; three characters at most.

    Examples
    --------
    >>> print(lattice(2, "1.2.", lambda a, b: HEAVY if OUTSIDE in (a, b) else LIGHT if a + b == 1 else NONE, {0: "9"}))
    ┏9━━┯━━━┓
    ┃ 1 │ . ┃
    ┃   ╵   ┃
    ┃ 2   . ┃
    ┗━━━━━━━┛
    """
    borders = _Borders(columns, len(cells) // columns, weight, notes or {})
    lines = []
    for row in range(borders.rows + 1):
        lines.append(
            "".join(borders.junction(row, column) + borders.line(row, column) for column in range(columns + 1))
        )
        if row < borders.rows:
            inside = (cells[row * columns + c].center(WIDTH) if c < columns else "" for c in range(columns + 1))
            lines.append("".join(UPRIGHT[borders.left(row, c)] + text for c, text in enumerate(inside)))
    return "\n".join(lines)


class _Borders:
    """The borders of a grid of cells, row by row; ``notes`` are drawn in the border above a cell."""

    def __init__(self, columns: int, rows: int, weight: Weight, notes: Mapping[int, str]) -> None:
        self.rows = rows
        self._columns, self._weight, self._notes = columns, weight, notes

    def left(self, row: int, column: int) -> int:
        """The weight of the border to the left of a cell."""
        return self._edge(self._cell(row, column - 1), self._cell(row, column))

    def junction(self, row: int, column: int) -> str:
        """The character at the upper left corner of a cell."""
        arms = (
            self.left(row - 1, column),
            self._above(row, column),
            self.left(row, column),
            self._above(row, column - 1),
        )
        return JUNCTIONS[sum(arm * 3**at for at, arm in enumerate(arms))]

    def line(self, row: int, column: int) -> str:
        """The border above a cell; empty to the right of the last column."""
        note = self._notes.get(self._cell(row, column), "")[:WIDTH]
        rest = LEVEL[self._above(row, column)] * (WIDTH - len(note))
        return note + rest if column < self._columns else ""

    def _above(self, row: int, column: int) -> int:
        return self._edge(self._cell(row - 1, column), self._cell(row, column))

    def _cell(self, row: int, column: int) -> int:
        return row * self._columns + column if 0 <= row < self.rows and 0 <= column < self._columns else OUTSIDE

    def _edge(self, one: int, other: int) -> int:
        return NONE if one == other else self._weight(one, other)
