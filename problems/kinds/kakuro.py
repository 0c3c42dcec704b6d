r"""Kakuro: runs of white cells with different values from 1 to 9, which add up to the clue before the run.

Text form: rows and columns of the board, ``3x3:``, then its cells row by row. A white cell is a value or a blank.
A black cell is ``x``, or ``(down\across)`` with the sums of the run below it and of the run to its right; either sum
may be missing. ``3x3:x(4\)(6\)(\3)..(\7)..`` is a board with two runs across and two down.
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
    """Return the canonical text.

    Raises
    ------
    PuzzleError
        The board, a run or a clue is invalid, or a value appears twice in a run.
    """
    board, offsets = read_board(text)
    found = list(runs(board))
    if not found:
        raise PuzzleError("found no white cell, expected at least one")
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
    """State an AllDifferent per run, and a Sum if its clue is known; the variables are the white cells."""
    board = read_board(text)[0]
    given = (board.cells[cell] for cell in _whites(board))
    blank = tuple("." if is_white(cell) else cell for cell in board.cells)
    givens = tuple((v, int(value)) for v, value in enumerate(given) if value != ".")
    return Problem(_rules(Board(board.columns, blank)), givens)


def render(text: str, solution: Sequence[int] | None = None) -> str:
    r"""Draw the board; black cells are filled or show their clues.

    >>> print(render(r"3x3:x(4\)(6\)(\3)..(\7).."))
    ┌───────────────────┐
    │ █████   4\    6\  │
    │   \3    .     .   │
    │   \7    .     .   │
    └───────────────────┘
    """
    board = read_board(text)[0]
    values = dict(zip(_whites(board), (str(value) for value in solution or ()), strict=False))
    cells = [_drawn(values.get(cell, symbol)) for cell, symbol in enumerate(board.cells)]
    return frame([" ".join(cells[at : at + board.columns]) for at in range(0, len(cells), board.columns)])


def digits(text: str, solution: Sequence[int]) -> str:  # noqa: ARG001 - other kinds need the puzzle
    """Return the values of the white cells, row by row; an invalid value becomes ``?``."""
    return "".join(str(value) if 0 < value <= MOST else "?" for value in solution)


def assignment(text: str, digits: str) -> tuple[int, ...]:  # noqa: ARG001 - other kinds need the puzzle
    """Return the values that `digits` wrote; ``?`` becomes 0."""
    return tuple("?123456789".find(symbol) for symbol in digits)


def name(text: str, variable: int) -> str:
    """Return the name of a cell: ``r1c5`` is the fifth cell of the first row, black cells included."""
    board = read_board(text)[0]
    return _place(_whites(board)[variable], board)


def _fault(board: Board, run: KakuroRun) -> str | None:
    size, where = len(run.cells), f"the run {run.role} from {_place(run.cells[0], board)}"
    if size > MOST:
        return f"{where} has {size} cells, expected at most {MOST}, as their values differ"
    if run.total and not LEAST_SUM[size] <= run.total <= MOST_SUM[size]:
        cells = f"{size} cell{'s' * (size > 1)}"
        return f"{where} has sum {run.total}, expected {LEAST_SUM[size]} to {MOST_SUM[size]} for {cells}"
    given = [board.cells[cell] for cell in run.cells if board.cells[cell] != "."]
    repeated = next((value for value in given if given.count(value) > 1), None)
    return f"{repeated} appears twice in {where}" if repeated else None


def _drawn(cell: str) -> str:
    return BLACK if cell == "x" else cell.strip("()").center(WIDTH)


def _place(cell: int, board: Board) -> str:
    return "r{}c{}".format(*(part + 1 for part in divmod(cell, board.columns)))


def _whites(board: Board) -> list[int]:
    return [cell for cell, symbol in enumerate(board.cells) if is_white(symbol)]


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
