"""The kinds of puzzle: one file each, one line each in KINDS."""

from __future__ import annotations

from collections.abc import Sequence
from random import Random
from typing import Protocol, runtime_checkable

from cagematch.problems.errors import InputError
from cagematch.problems.kinds import futoshiki, kakuro, killer, latin, queens, sudoku
from cagematch.problems.problem import Problem, Restore


class Kind(Protocol):
    """The module of a kind. A kind whose puzzles have symmetries is also `Symmetric`.

    Every function except ``parse`` takes a canonical text, as ``parse`` returns it.
    """

    def parse(self, text: str) -> str:
        """Return the canonical text of a puzzle in any notation that the kind accepts.

        Equal puzzles have equal canonical texts, and a canonical text parses to itself.

        Raises
        ------
        PuzzleError
            The text is invalid; the error has the offset of the fault, if it has a single place.
        Contradiction
            Two givens contradict each other; the error has the canonical text.
        """

    def problem(self, text: str) -> Problem:
        """Return the puzzle as constraints and givens; puzzles of a shape share one `Rules` object."""

    def render(self, text: str, solution: Sequence[int] | None = None) -> str:
        """Return a drawing of the puzzle, or of the given solution."""

    def digits(self, text: str, solution: Sequence[int]) -> str:
        """Return a solution in the kind's compact text form."""

    def assignment(self, text: str, digits: str) -> tuple[int, ...]:
        """Return the values that `digits` wrote, one per variable."""

    def name(self, text: str, variable: int) -> str:
        """Return the name of a variable in messages, such as ``r1c5``."""


@runtime_checkable
class Symmetric(Protocol):
    """What a kind's module provides in addition if its puzzles have symmetries."""

    def permuted(self, text: str, random: Random) -> tuple[str, Restore]:
        """Return the canonical text of a random equivalent puzzle.

        Returns
        -------
        tuple[str, Restore]
            The text, and a function that maps a solution of it to a solution of the original puzzle.
        """


KINDS: dict[str, Kind] = {
    "sudoku": sudoku,
    "killer": killer,
    "queens": queens,
    "latin": latin,
    "futoshiki": futoshiki,
    "kakuro": kakuro,
}


def kind_named(name: str) -> Kind:
    """Return the kind with a name.

    Raises
    ------
    InputError
        The name is unknown; the message lists the known ones.
    """
    if name not in KINDS:
        raise InputError(f"unknown kind of puzzle {name!r}, expected one of {', '.join(KINDS)}")
    return KINDS[name]
