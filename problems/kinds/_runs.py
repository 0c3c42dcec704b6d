"""The board of a Kakuro text: its cells, its clues, and the runs of white cells that they stand before."""

from __future__ import annotations

import re
from collections.abc import Iterator
from itertools import groupby
from typing import NamedTuple

from cagematch.problems.errors import PuzzleError

SIZE = re.compile(r"([1-9][0-9]?)[xX]([1-9][0-9]?):", re.ASCII)
CELL = re.compile(r"[xX]|[1-9.*_0-]|\(([0-9]{0,2})\\([0-9]{0,2})\)", re.ASCII)
MOST = 9  # values, and so cells of a run
LEAST_SUM = [size * (size + 1) // 2 for size in range(MOST + 1)]
MOST_SUM = [size * (2 * MOST - size + 1) // 2 for size in range(MOST + 1)]


class Board(NamedTuple):
    r"""Cells row by row: ``x`` or ``(down\across)`` for a black one, a value or ``.`` for a white one."""

    columns: int
    cells: tuple[str, ...]

    def clue(self, cell: int, role: str) -> int:
        """The sum that a black cell tells for the run below it or to its right; 0 for none."""
        found = CELL.fullmatch(self.cells[cell])
        return int((found and found[2 if role == "across" else 1]) or 0)


class KakuroRun(NamedTuple):
    """White cells in a line, and what they add up to; 0 where no clue says."""

    role: str
    cells: tuple[int, ...]
    total: int


def read_board(text: str) -> tuple[Board, list[int]]:
    """The board, and where each of its cells begins in the text; PuzzleError for what is none."""
    size = SIZE.match(text)
    if not size:
        raise PuzzleError(r"expected rows x columns in front, then the cells: 3x3:x(4\)(6\)(3\).. and so on", 0)
    cells, offsets, at = [], [], size.end()
    while found := CELL.match(text, at):
        cells.append(_canonical(found))
        offsets.append(at)
        at = found.end()
    if at < len(text):
        wanted = r"a white cell (1-9 or a blank) or a black one (x or (down\across))"
        raise PuzzleError(f"{text[at]!r} where {wanted} was expected", at)
    rows, columns = int(size[1]), int(size[2])
    if len(cells) != rows * columns:
        raise PuzzleError(f"{len(cells)} cells, expected {rows * columns} for {rows} rows of {columns}")
    return Board(columns, tuple(cells)), offsets


def runs(board: Board) -> Iterator[KakuroRun]:
    """Every run of white cells: those across, then those down."""
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
    """Whether a cell takes a value."""
    return cell[0] not in "x("


def _canonical(found: re.Match[str]) -> str:
    if found[0][0] == "(":
        down, across = (clue.lstrip("0") for clue in found.groups(default=""))
        return rf"({down}\{across})" if down or across else "x"
    return "x" if found[0] in "xX" else "." if found[0] in "*_0-" else found[0]
