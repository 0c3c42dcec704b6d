"""The kinds of puzzle: one file each, one line each in KINDS."""

from __future__ import annotations

from collections.abc import Sequence
from random import Random
from typing import Protocol, runtime_checkable

from cagematch.problems.errors import InputError
from cagematch.problems.kinds import futoshiki, kakuro, killer, latin, queens, sudoku
from cagematch.problems.problem import Problem, Restore


class Kind(Protocol):
    """What a kind's module provides; one that has symmetries is `Symmetric`, too."""

    def parse(self, text: str) -> str:
        """Return the canonical text of a puzzle written any way the kind allows; else PuzzleError."""

    def problem(self, text: str) -> Problem:
        """State the puzzle of a canonical text in constraints."""

    def render(self, text: str, solution: Sequence[int] | None = None) -> str:
        """Draw the puzzle, or its solution when one is given."""

    def digits(self, text: str, solution: Sequence[int]) -> str:
        """Write a solution of the puzzle in the kind's compact form."""

    def assignment(self, text: str, digits: str) -> tuple[int, ...]:
        """Read back what ``digits`` wrote."""

    def name(self, text: str, variable: int) -> str:
        """Name a variable as people do (``r1c5``)."""


@runtime_checkable
class Symmetric(Protocol):
    """What the module of a kind has besides whose puzzles can be told in many ways that are one puzzle."""

    def permuted(self, text: str, random: Random) -> tuple[str, Restore]:
        """Another canonical text, drawn at random, and what turns a solution of it into one of the first."""


KINDS: dict[str, Kind] = {
    "sudoku": sudoku,
    "killer": killer,
    "queens": queens,
    "latin": latin,
    "futoshiki": futoshiki,
    "kakuro": kakuro,
}


def kind_named(name: str) -> Kind:
    """Look a kind up by name, or say which there are."""
    if name not in KINDS:
        raise InputError(f"no kind of puzzle is called {name!r}; there are: {', '.join(KINDS)}")
    return KINDS[name]
