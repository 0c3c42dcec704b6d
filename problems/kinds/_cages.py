"""Cages in JSON: reading, validation, and their canonical order."""

from __future__ import annotations

import json
from typing import Any, NamedTuple

from cagematch.problems.errors import PuzzleError
from cagematch.problems.kinds._shape import place

FORM = '{"cages": [{"cells": [[row, column], …], "sum": n}, …]}'


class Cage(NamedTuple):
    """Cells in ascending order, and the sum of their values; 0 if the sum is unknown."""

    cells: tuple[int, ...]
    total: int


def read_object(text: str) -> dict[str, Any]:
    """Read a JSON object.

    Raises
    ------
    PuzzleError
        The text is not valid JSON, or not an object.
    """
    try:
        found = json.loads(text)
    except json.JSONDecodeError as error:
        raise PuzzleError(f"invalid JSON: {error.msg}", error.pos) from None
    except (ValueError, RecursionError):
        raise PuzzleError("invalid JSON: a number is too long, or the nesting is too deep") from None
    if not isinstance(found, dict):
        raise PuzzleError(f"found {_shown(found)}, expected {FORM}")
    return found


def cages_of(fields: dict[str, Any], n: int, *, repeats: bool) -> tuple[Cage, ...]:
    """Validate the cages of an n × n grid, and return them in canonical order without duplicates.

    Parameters
    ----------
    fields
        The puzzle's JSON object.
    n
        The number of rows of the grid.
    repeats
        Whether a value may appear more than once in a cage.

    Raises
    ------
    PuzzleError
        There are no cages, or one is invalid; the message has its number, counted from 1.
    """
    entries = fields.get("cages")
    if not isinstance(entries, list) or not entries:
        raise PuzzleError(f"no cages, expected {FORM}")
    totals: dict[tuple[int, ...], int] = {}
    for number, cage in enumerate(entries, 1):
        try:
            cells, total = _cage(cage, n, repeats=repeats)
        except PuzzleError as error:
            raise PuzzleError(f"cage {number}: {error}") from None
        known = totals.get(cells, 0)
        if known and total not in (0, known):
            raise PuzzleError(f"cage {number}: sum {total}, expected {known} as in another cage of the same cells")
        totals[cells] = total or known
    # A single cell with an unknown sum states nothing.
    return tuple(Cage(cells, total) for cells, total in sorted(totals.items()) if total or len(cells) > 1)


def as_json(cages: tuple[Cage, ...], n: int) -> list[dict[str, Any]]:
    """Return the cages in the form that `cages_of` reads."""
    return [{"cells": [divmod(cell, n) for cell in cage.cells], "sum": cage.total} for cage in cages]


def _cage(cage: Any, n: int, *, repeats: bool) -> Cage:
    if not isinstance(cage, dict) or not isinstance(cage.get("cells"), list) or not cage["cells"]:
        raise PuzzleError(f'found {_shown(cage)}, expected {{"cells": [[row, column], …], "sum": n}}')
    cells = [_cell(cell, n) for cell in cage["cells"]]
    twice = next((cell for at, cell in enumerate(cells) if cell in cells[:at]), None)
    if twice is not None:
        raise PuzzleError(f"cell {[*divmod(twice, n)]} ({place(twice, n)}) is listed twice")
    if "sum" not in cage:
        raise PuzzleError("the sum is missing; write 0 if it is unknown")
    return Cage(tuple(sorted(cells)), _total(cage["sum"], len(cells), n, repeats=repeats))


def _cell(cell: Any, n: int) -> int:
    if not isinstance(cell, list) or [type(part) for part in cell] != [int, int]:
        raise PuzzleError(f"found {_shown(cell)}, expected a cell as [row, column]")
    row, column = cell
    if not (0 <= row < n and 0 <= column < n):
        raise PuzzleError(
            f"cell [{row}, {column}] is outside the {n}×{n} grid, expected rows and columns from 0 to {n - 1}"
        )
    return int(row * n + column)


def _total(total: Any, size: int, n: int, *, repeats: bool) -> int:
    if type(total) is not int:
        raise PuzzleError(f"sum {_shown(total)}, expected a whole number")
    if size > n and not repeats:
        raise PuzzleError(f"found {size} cells, expected at most {n}, as their values differ")
    least, most = (size, size * n) if repeats else (size * (size + 1) // 2, size * (2 * n - size + 1) // 2)
    if total and not least <= total <= most:
        cells = "1 cell" if size == 1 else f"{size} cells"
        raise PuzzleError(f"sum {total} is impossible for {cells}, expected {least} to {most}, or 0 if it is unknown")
    return total


def _shown(value: Any, most: int = 30) -> str:
    text = json.dumps(value, ensure_ascii=False)
    return text if len(text) <= most else text[:most] + "…"
