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


Weight = Callable[[int, int], int]  # the weight of the border between two cells, either of which may be OUTSIDE


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
    rows = len(cells) // columns

    def cell(row: int, column: int) -> int:
        return row * columns + column if 0 <= row < rows and 0 <= column < columns else OUTSIDE

    def edge(one: int, other: int) -> int:
        return NONE if one == other else weight(one, other)

    def left(row: int, column: int) -> int:
        return edge(cell(row, column - 1), cell(row, column))

    def above(row: int, column: int) -> int:
        return edge(cell(row - 1, column), cell(row, column))

    def junction(row: int, column: int) -> str:
        arms = left(row - 1, column), above(row, column), left(row, column), above(row, column - 1)
        return JUNCTIONS[sum(arm * 3**at for at, arm in enumerate(arms))]

    def border(row: int, column: int) -> str:
        note = (notes or {}).get(cell(row, column), "")[:WIDTH]
        return note + LEVEL[above(row, column)] * (WIDTH - len(note)) if column < columns else ""

    lines = []
    for row in range(rows + 1):
        lines.append("".join(junction(row, column) + border(row, column) for column in range(columns + 1)))
        if row < rows:
            inside = (cells[cell(row, c)].center(WIDTH) if c < columns else "" for c in range(columns + 1))
            lines.append("".join(UPRIGHT[left(row, c)] + text for c, text in enumerate(inside)))
    return "\n".join(lines)
