"""Solutions of a puzzle drawn beside each other, with what differs marked."""

from __future__ import annotations

from collections.abc import Sequence
from itertools import zip_longest

from rich.text import Text

from cagematch.problems.kinds import KINDS

GAP = 4  # blanks between two grids
MARK = "bold reverse"
NAMED = 8  # cells


def differing(kind: str, text: str, one: str, other: str) -> list[str]:
    """The cells that have other values in another solution, with both: ``r1c5 3/7``."""
    of, first, second = KINDS[kind], KINDS[kind].assignment(text, one), KINDS[kind].assignment(text, other)
    named: dict[str, str] = {}
    for variable, (value, another) in enumerate(zip(first, second, strict=True)):
        name = of.name(text, variable)
        if value != another and " " not in name:  # a name of several words is that of no cell
            named[name] = f"{value}/{another}"
    return [f"{name} {values}" for name, values in named.items()]


def in_words(cells: Sequence[str]) -> str:
    """``4 cells differ: r1c1 3/7, …``."""
    more = f", … and {len(cells) - NAMED} more" if len(cells) > NAMED else ""
    verb = "cell differs" if len(cells) == 1 else "cells differ"
    return f"{len(cells)} {verb}: {', '.join(cells[:NAMED])}{more}"


def beside(kind: str, text: str, solutions: Sequence[str], width: int) -> list[Text]:
    """Two solutions, side by side where they fit into ``width`` columns, with the characters marked that differ."""
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
    told = []
    for line, other in zip(lines, others, strict=True):
        marked = Text()
        for mine, theirs in zip_longest(line, other):
            marked.append(mine or "", style=MARK if mine != theirs else None)
        told.append(marked)
    return told
