"""The data files, and how a case of theirs reads."""

from __future__ import annotations

import re
from dataclasses import dataclass
from pathlib import Path

# What stands in front of the cells ends with a colon, too; no count has more than nine digits.
CASE = re.compile(r"(.+?):([0-9]{1,9})(?::([^:]+))?")
# The files of a kind that has not just one, named after it.
FILES = {"sudoku": ("small", "nine", "search", "large", "variants")}
DATA = Path(__file__).resolve().parent.parent / "data"


@dataclass(frozen=True)
class Case:
    """A puzzle, how many solutions it has, and the solution where there is just one."""

    puzzle: str
    count: int
    solution: str | None
    name: str


def cases(*names: str) -> list[Case]:
    """Every case of the files, in order."""
    return [
        _case(line, f"{name}:{number}")
        for name in names
        for number, line in enumerate((DATA / f"{name}.txt").read_text().splitlines(), 1)
        if line and not line.startswith("#")
    ]


def cases_of(kind: str) -> list[Case]:
    """Every case of a kind."""
    return cases(*FILES.get(kind, (kind,)))


def _case(line: str, name: str) -> Case:
    puzzle, count, solution = CASE.fullmatch(line).groups()
    return Case(puzzle, int(count), solution, name)
