"""Drawings of two solutions of a puzzle, with their differences marked."""

from __future__ import annotations

from collections.abc import Sequence
from itertools import zip_longest

from rich.text import Text

from cagematch.problems.kinds import KINDS

GAP = 4  # blanks between two grids
MARK = "bold reverse"
NAMED = 8  # cells that a text lists


def differing(kind: str, text: str, one: str, other: str) -> list[str]:
    """Return the cells in which two solutions differ, with both values: ``r1c5 3/7``."""
    of, first, second = KINDS[kind], KINDS[kind].assignment(text, one), KINDS[kind].assignment(text, other)
    named: dict[str, str] = {}
    for variable, (value, another) in enumerate(zip(first, second, strict=True)):
        name = of.name(text, variable)
        if value != another and " " not in name:  # a name of several words is an auxiliary variable
            named[name] = f"{value}/{another}"
    return [f"{name} {values}" for name, values in named.items()]


def summarised(cells: Sequence[str]) -> str:
    """Summarise differing cells: ``4 cells differ: r1c1 3/7, …``."""
    more = f", … and {len(cells) - NAMED} more" if len(cells) > NAMED else ""
    verb = "cell differs" if len(cells) == 1 else "cells differ"
    return f"{len(cells)} {verb}: {', '.join(cells[:NAMED])}{more}"


def side_by_side(kind: str, text: str, solutions: Sequence[str], width: int) -> list[Text]:
    """Draw two solutions with their differences marked.

    Parameters
    ----------
    width
        The columns of the terminal. The second solution is below the first if both do not fit side by side.

    Returns
    -------
    list of Text
        The lines of the drawing.
    """
    grids = [KINDS[kind].render(text, KINDS[kind].assignment(text, one)).splitlines() for one in solutions]
    marked = [_marked(lines, other) for lines, other in zip(grids, reversed(grids), strict=True)]
    wide = max(map(len, grids[0]))
    if 2 * wide + GAP > width:
        return [*marked[0], *marked[1]]
    return [
        Text.assemble(one, " " * (wide - len(one) + GAP), other)
        for one, other in zip(marked[0], marked[1], strict=True)
    ]


def _marked(lines: Sequence[str], others: Sequence[str]) -> list[Text]:
    found = []
    for line, other in zip(lines, others, strict=True):
        marked = Text()
        for mine, theirs in zip_longest(line, other):
            marked.append(mine or "", style=MARK if mine != theirs else None)
        found.append(marked)
    return found
