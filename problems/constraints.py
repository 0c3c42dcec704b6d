"""The closed vocabulary in which kinds speak to backends.

A kind states its rules in these terms and never hears of a solver; a backend posts these terms and
never hears of a puzzle. ``holds`` is what verification uses: it shares nothing with any solver.

Variables are indices into the problem's domains; an *assignment* is a sequence with one integer a variable.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass


@dataclass(frozen=True, slots=True)
class AllDifferent:
    """The variables of ``scope`` take pairwise different values."""

    scope: tuple[int, ...]
    role: str

    def holds(self, assignment: Sequence[int]) -> bool:
        """Whether no two variables of the scope share a value."""
        return len({assignment[v] for v in self.scope}) == len(self.scope)


@dataclass(frozen=True, slots=True)
class Sum:
    """The values of ``scope`` add up to ``total``."""

    scope: tuple[int, ...]
    total: int
    role: str

    def holds(self, assignment: Sequence[int]) -> bool:
        """Whether the values add up."""
        return sum(assignment[v] for v in self.scope) == self.total


@dataclass(frozen=True, slots=True)
class NotEqual:
    """Two variables differ. What `rewrite.pairwise` breaks an ``AllDifferent`` into."""

    scope: tuple[int, int]
    role: str

    def holds(self, assignment: Sequence[int]) -> bool:
        """Whether the two values differ."""
        return assignment[self.scope[0]] != assignment[self.scope[1]]


@dataclass(frozen=True, slots=True)
class Less:
    """The first variable of ``scope`` is less than the second."""

    scope: tuple[int, int]
    role: str

    def holds(self, assignment: Sequence[int]) -> bool:
        """Whether the first value is less than the second."""
        return assignment[self.scope[0]] < assignment[self.scope[1]]


@dataclass(frozen=True, slots=True)
class AllowedSets:
    """The values of ``scope`` are pairwise different, and together one of ``sets``, each an ascending tuple.

    What `rewrite.allowed_sets` makes of a ``Sum`` over variables that differ; no kind states it.
    """

    scope: tuple[int, ...]
    sets: tuple[tuple[int, ...], ...]
    role: str

    def holds(self, assignment: Sequence[int]) -> bool:
        """Whether the values are one of the sets."""
        return tuple(sorted(assignment[v] for v in self.scope)) in self.sets


Constraint = AllDifferent | Sum | NotEqual | Less | AllowedSets
