"""Killer Sudoku: a Sudoku with cages, whose values are pairwise different and add up to the cage's sum.

Text form: a JSON object in one line. Rows and columns are numbered from 0. Unknown keys are ignored.

=============  ======================================================================================
``cages``      ``[{"cells": [[0, 0], [0, 1]], "sum": 15}, …]``. A sum of 0 is unknown. Cages may overlap
               and need not cover the grid
``repeats``    ``true`` allows a value twice in a cage, as some published models do
``grid``       a text of the kind `sudoku`, for givens, box shape, diagonals or regions. Alternatively:
               ``n`` or ``box`` (``[rows, columns]``), ``diagonal`` (``true``) and ``givens`` (the cells
               in one string, or a list of rows; a row may be numbers and dots separated by spaces)
=============  ======================================================================================

The canonical text has ``cages`` (cells and cages in ascending order, without duplicates), ``grid`` unless it is an
empty 9×9 grid, and ``repeats`` if it is true.
"""

from __future__ import annotations

import json
from collections.abc import Iterator, Sequence
from functools import lru_cache
from typing import Any

from cagematch.problems.constraints import AllDifferent, Constraint, Sum
from cagematch.problems.errors import PuzzleError
from cagematch.problems.kinds import sudoku
from cagematch.problems.kinds._cages import Cage, as_json, cages_of, read_object
from cagematch.problems.kinds._drawing import HEAVY, LIGHT, NONE, OUTSIDE, lattice
from cagematch.problems.kinds._givens import grid_of
from cagematch.problems.kinds._shape import Shape, options_line, shape_of, units
from cagematch.problems.problem import Problem, Rules

EMPTY = "." * 81


def parse(text: str) -> str:
    """Return the canonical text.

    Raises
    ------
    PuzzleError
        The text is not a JSON object, or its grid or a cage is invalid.
    """
    fields = read_object(text)
    if fields.get("kind") not in (None, "killer"):
        raise PuzzleError(f"\"kind\" is {fields['kind']!r}, expected 'killer'")
    grid = grid_of(fields)
    repeats = fields.get("repeats") or False
    if repeats not in (True, False):
        raise PuzzleError(f'"repeats" is {repeats!r}, expected true or false')
    n = shape_of(grid)[0].n
    canonical: dict[str, Any] = {"cages": as_json(cages_of(fields, n, repeats=repeats), n)}
    if grid != EMPTY:
        canonical["grid"] = grid
    if repeats:
        canonical["repeats"] = True
    return json.dumps(canonical, separators=(",", ":"))


def problem(text: str) -> Problem:
    """State the rules of the grid, and for each cage an AllDifferent and, if its sum is known, a Sum."""
    grid, cages, repeats = _read(text)
    plain = sudoku.problem(grid)
    return Problem(_rules(plain.rules, cages, repeats), plain.givens)


def render(text: str, solution: Sequence[int] | None = None) -> str:
    """Draw boxes with heavy lines and cages with light lines; each sum is above the cage's first cell.

    >>> print(render(parse('{"n": 4, "cages": [{"cells": [[0, 0], [0, 1], [1, 1]], "sum": 7}]}')))
    ┏7━━━━━━┳━━━━━━━┓
    ┃ .   . ┃ .   . ┃
    ┠───┐   ┃       ┃
    ┃ . │ . ┃ .   . ┃
    ┣━━━┷━━━╋━━━━━━━┫
    ┃ .   . ┃ .   . ┃
    ┃       ┃       ┃
    ┃ .   . ┃ .   . ┃
    ┗━━━━━━━┻━━━━━━━┛
    """
    grid, cages, _ = _read(text)
    shape, start, end = shape_of(grid)
    boxes, caged = _membership(shape, cages)

    def weight(one: int, other: int) -> int:
        if OUTSIDE in (one, other) or boxes[one] != boxes[other]:
            return HEAVY
        return LIGHT if caged[one] != caged[other] else NONE

    body = grid[start:end] if solution is None else digits(text, solution)
    sums = {cage.cells[0]: str(cage.total or "?") for cage in reversed(cages)}
    return lattice(shape.n, body, weight, sums) + options_line(shape)


def digits(text: str, solution: Sequence[int]) -> str:
    """Return a solution in the compact form of the kind `sudoku`."""
    return sudoku.digits(text, solution)


def assignment(text: str, digits: str) -> tuple[int, ...]:
    """Return the values that `digits` wrote."""
    return sudoku.assignment(text, digits)


def name(text: str, variable: int) -> str:
    """Return the name of a cell: ``r1c5`` is the fifth cell of the first row."""
    return sudoku.name(_read(text)[0], variable)


def _read(text: str) -> tuple[str, tuple[Cage, ...], bool]:
    """Read a canonical text: the grid, the cages and whether values may repeat."""
    fields = json.loads(text)
    grid, repeats = fields.get("grid", EMPTY), fields.get("repeats", False)
    n = shape_of(grid)[0].n
    cages = (Cage(tuple(row * n + column for row, column in cage["cells"]), cage["sum"]) for cage in fields["cages"])
    return grid, tuple(cages), repeats


@lru_cache(maxsize=64)
def _rules(plain: Rules, cages: tuple[Cage, ...], repeats: bool) -> Rules:
    return Rules(plain.domains, (*plain.constraints, *_constraints(cages, repeats)))


def _constraints(cages: tuple[Cage, ...], repeats: bool) -> Iterator[Constraint]:
    for cells, total in cages:
        if total:
            yield Sum(cells, total, "cage")
        if len(cells) > 1 and not repeats:
            yield AllDifferent(cells, "cage")


def _membership(shape: Shape, cages: tuple[Cage, ...]) -> tuple[list[int], list[set[int]]]:
    """For each cell, the number of its box or region, and the numbers of its cages."""
    boxes, caged = [0] * shape.n**2, [set[int]() for _ in range(shape.n**2)]
    for number, (role, cells) in enumerate(units(shape)):
        for cell in cells if role in ("box", "region") else ():
            boxes[cell] = number
    for number, cage in enumerate(cages):
        for cell in cage.cells:
            caged[cell].add(number)
    return boxes, caged
