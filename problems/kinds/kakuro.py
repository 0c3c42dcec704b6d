r"""Kakuro: runs of white cells, each with different values from 1 to 9 that add up to the clue before the run.

Text form: rows and columns of the board, ``3x3:``, then its cells row by row. A white cell is a value or a blank.
A black one is ``x``, or ``(down\across)`` with the sums of the run below it and of the run to its right, either of
which may be missing: ``3x3:x(4\)(6\)(\3)..(\7)..`` is a board of two runs across and two down.
"""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from functools import lru_cache

from cagematch.problems.constraints import AllDifferent, Constraint, Sum
from cagematch.problems.errors import PuzzleError
from cagematch.problems.kinds._drawing import frame
from cagematch.problems.kinds._runs import LEAST_SUM, MOST, MOST_SUM, Board, KakuroRun, is_white, read_board, runs
from cagematch.problems.problem import Problem, Rules

WIDTH = 5
BLACK = "█" * WIDTH


def parse(text: str) -> str:
    """Return the canonical text; raise PuzzleError with the offset of what is wrong."""
    board, offsets = read_board(text)
    found = list(runs(board))
    if not found:
        raise PuzzleError("no white cell, expected one at least")
    for run in found:
        if fault := _fault(board, run):
            raise PuzzleError(fault, offsets[run.cells[0]])
    heads = {(run.role, run.cells[0] - (1 if run.role == "across" else board.columns)) for run in found if run.total}
    for cell in range(len(board.cells)):
        for role, where in (("across", "to its right"), ("down", "below it")):
            if board.clue(cell, role) and (role, cell) not in heads:
                message = f"clue {board.clue(cell, role)} at {_place(cell, board)} has no white cell {where}"
                raise PuzzleError(message, offsets[cell])
    rows = len(board.cells) // board.columns
    return f"{rows}x{board.columns}:" + "".join(board.cells)


def problem(text: str) -> Problem:
    """State the rules as an AllDifferent a run, and a Sum where its clue is known; variables are the white cells."""
    board = read_board(text)[0]
    given = (board.cells[cell] for cell in _whites(board))
    blank = tuple("." if is_white(cell) else cell for cell in board.cells)
    givens = tuple((v, int(value)) for v, value in enumerate(given) if value != ".")
    return Problem(_rules(Board(board.columns, blank)), givens)


def render(text: str, solution: Sequence[int] | None = None) -> str:
    r"""Draw the board; black cells are filled, or have their clues.

    >>> print(render(r"3x3:x(4\)(6\)(\3)..(\7).."))
    ┌───────────────────┐
    │ █████   4\    6\  │
    │   \3    .     .   │
    │   \7    .     .   │
    └───────────────────┘
    """
    board = read_board(text)[0]
    values = dict(zip(_whites(board), (str(value) for value in solution or ()), strict=False))
    cells = [_drawn(values.get(cell, told)) for cell, told in enumerate(board.cells)]
    return frame([" ".join(cells[at : at + board.columns]) for at in range(0, len(cells), board.columns)])


def digits(text: str, solution: Sequence[int]) -> str:  # noqa: ARG001 - other kinds need the puzzle
    """Write the values of the white cells, row by row; ``?`` stands for a value that is none."""
    return "".join(str(value) if 0 < value <= MOST else "?" for value in solution)


def assignment(text: str, digits: str) -> tuple[int, ...]:  # noqa: ARG001 - other kinds need the puzzle
    """Read back what ``digits`` wrote; 0 where it wrote ``?``."""
    return tuple("?123456789".find(symbol) for symbol in digits)


def name(text: str, variable: int) -> str:
    """``r1c5`` is the fifth cell of the first row, black ones counted."""
    board = read_board(text)[0]
    return _place(_whites(board)[variable], board)


def _fault(board: Board, run: KakuroRun) -> str | None:
    size, where = len(run.cells), f"the run {run.role} from {_place(run.cells[0], board)}"
    if size > MOST:
        return f"{where} has {size} cells, which cannot hold different values from 1 to {MOST}"
    if run.total and not LEAST_SUM[size] <= run.total <= MOST_SUM[size]:
        possible = f"expected {LEAST_SUM[size]} to {MOST_SUM[size]}"
        return f"{where} has {size} cell{'s' * (size > 1)}, whose sum cannot be {run.total}, {possible}"
    given = [board.cells[cell] for cell in run.cells if board.cells[cell] != "."]
    twice = next((value for value in given if given.count(value) > 1), None)
    return f"{twice} stands twice in {where}" if twice else None


def _drawn(cell: str) -> str:
    return BLACK if cell == "x" else cell.strip("()").center(WIDTH)


def _place(cell: int, board: Board) -> str:
    return "r{}c{}".format(*(part + 1 for part in divmod(cell, board.columns)))


def _whites(board: Board) -> list[int]:
    return [cell for cell, told in enumerate(board.cells) if is_white(told)]


@lru_cache(maxsize=64)
def _rules(board: Board) -> Rules:
    whites = _whites(board)
    return Rules((tuple(range(1, MOST + 1)),) * len(whites), tuple(_constraints(board, whites)))


def _constraints(board: Board, whites: list[int]) -> Iterator[Constraint]:
    number = {cell: variable for variable, cell in enumerate(whites)}
    for role, cells, total in runs(board):
        scope = tuple(number[cell] for cell in cells)
        if total:
            yield Sum(scope, total, role)
        if len(scope) > 1:
            yield AllDifferent(scope, role)
