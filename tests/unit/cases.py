"""The cases in the files of tests/data."""

from __future__ import annotations

import re
from dataclasses import dataclass
from pathlib import Path

# A prefix of the cells also ends with a colon; a count has at most nine digits.
CASE = re.compile(r"(.+?):([0-9]{1,9})(?::([^:]+))?")
# The files of a kind, unless it has a single file with its name.
FILES = {"sudoku": ("small", "nine", "search", "large", "variants")}
DATA = Path(__file__).resolve().parent.parent / "data"


@dataclass(frozen=True)
class Case:
    """A puzzle, its number of solutions, and the solution if there is exactly one."""

    puzzle: str
    count: int
    solution: str | None
    name: str


def cases(*names: str) -> list[Case]:
    """Return all cases of the files, in order."""
    return [
        _case(line, f"{name}:{number}")
        for name in names
        for number, line in enumerate((DATA / f"{name}.txt").read_text().splitlines(), 1)
        if line and not line.startswith("#")
    ]


def cases_of(kind: str) -> list[Case]:
    """Return all cases of a kind."""
    return cases(*FILES.get(kind, (kind,)))


def _case(line: str, name: str) -> Case:
    puzzle, count, solution = CASE.fullmatch(line).groups()
    return Case(puzzle, int(count), solution, name)
