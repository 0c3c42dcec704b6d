"""The board of a Kakuro text: its cells, its clues, and its runs of white cells."""

from __future__ import annotations

import re
from collections.abc import Iterator
from itertools import groupby
from typing import NamedTuple

from cagematch.problems.errors import PuzzleError

SIZE = re.compile(r"([1-9][0-9]?)[xX]([1-9][0-9]?):", re.ASCII)
CELL = re.compile(r"[xX]|[1-9.*_0-]|\(([0-9]{0,2})\\([0-9]{0,2})\)", re.ASCII)
MOST = 9  # values, and therefore cells in a run
LEAST_SUM = [size * (size + 1) // 2 for size in range(MOST + 1)]
MOST_SUM = [size * (2 * MOST - size + 1) // 2 for size in range(MOST + 1)]


class Board(NamedTuple):
    r"""Cells row by row: ``x`` or ``(down\across)`` for a black cell, a value or ``.`` for a white one."""

    columns: int
    cells: tuple[str, ...]

    def clue(self, cell: int, role: str) -> int:
        """Return the clue of a black cell for the run to its right (``across``) or below it; 0 without a clue."""
        found = CELL.fullmatch(self.cells[cell])
        return int((found and found[2 if role == "across" else 1]) or 0)


class KakuroRun(NamedTuple):
    """Adjacent white cells of a line, and their sum; 0 without a clue."""

    role: str
    cells: tuple[int, ...]
    total: int


def read_board(text: str) -> tuple[Board, list[int]]:
    """Read a board.

    Returns
    -------
    tuple[Board, list[int]]
        The board, and the offset of each of its cells in the text.

    Raises
    ------
    PuzzleError
        The text does not start with a size, a cell is invalid, or the number of cells does not match.
    """
    size = SIZE.match(text)
    if not size:
        example = r"3x3:x(4\)(6\)(\3)..(\7).."
        raise PuzzleError(f"found {text[:20]!r}, expected rows x columns and then the cells, as in {example}", 0)
    cells, offsets, at = [], [], size.end()
    while found := CELL.match(text, at):
        cells.append(_canonical(found))
        offsets.append(at)
        at = found.end()
    if at < len(text):
        expected = r"a white cell (1-9 or a blank) or a black cell (x or (down\across))"
        raise PuzzleError(f"found {text[at]!r}, expected {expected}", at)
    rows, columns = int(size[1]), int(size[2])
    if len(cells) != rows * columns:
        raise PuzzleError(f"found {len(cells)} cells, expected {rows * columns} for {rows} rows of {columns}")
    return Board(columns, tuple(cells)), offsets


def runs(board: Board) -> Iterator[KakuroRun]:
    """Yield every run of white cells: first across, then down."""
    count = len(board.cells)
    rows = (range(at, at + board.columns) for at in range(0, count, board.columns))
    columns = (range(column, count, board.columns) for column in range(board.columns))
    for role, lines in (("across", rows), ("down", columns)):
        for line in lines:
            for white, group in groupby(line, lambda cell: is_white(board.cells[cell])):
                if white:
                    cells = tuple(group)
                    before = cells[0] - line.step
                    yield KakuroRun(role, cells, board.clue(before, role) if cells[0] != line.start else 0)


def is_white(cell: str) -> bool:
    """Return whether a cell is white, that is, has a value."""
    return cell[0] not in "x("


def _canonical(found: re.Match[str]) -> str:
    if found[0][0] == "(":
        down, across = (clue.lstrip("0") for clue in found.groups(default=""))
        return rf"({down}\{across})" if down or across else "x"
    return "x" if found[0] in "xX" else "." if found[0] in "*_0-" else found[0]
