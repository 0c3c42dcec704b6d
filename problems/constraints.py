"""The constraint types: the only interface between kinds and backends.

A kind states its rules with these types and is independent of all solvers. A backend posts these types and is
independent of all kinds. Verification uses ``holds``, which shares no code with any solver.

A variable is an index into the domains of the rules. An *assignment* is a sequence of one integer per variable.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass


@dataclass(frozen=True, slots=True)
class AllDifferent:
    """The variables of ``scope`` have pairwise different values."""

    scope: tuple[int, ...]
    role: str

    def holds(self, assignment: Sequence[int]) -> bool:
        """Return whether no two variables of the scope have the same value."""
        return len({assignment[v] for v in self.scope}) == len(self.scope)


@dataclass(frozen=True, slots=True)
class Sum:
    """The values of ``scope`` add up to ``total``."""

    scope: tuple[int, ...]
    total: int
    role: str

    def holds(self, assignment: Sequence[int]) -> bool:
        """Return whether the values add up to the total."""
        return sum(assignment[v] for v in self.scope) == self.total


@dataclass(frozen=True, slots=True)
class NotEqual:
    """Two variables have different values. `rewrite.pairwise` decomposes an ``AllDifferent`` into these."""

    scope: tuple[int, int]
    role: str

    def holds(self, assignment: Sequence[int]) -> bool:
        """Return whether the two values differ."""
        return assignment[self.scope[0]] != assignment[self.scope[1]]


@dataclass(frozen=True, slots=True)
class Less:
    """The first variable of ``scope`` is less than the second."""

    scope: tuple[int, int]
    role: str

    def holds(self, assignment: Sequence[int]) -> bool:
        """Return whether the first value is less than the second."""
        return assignment[self.scope[0]] < assignment[self.scope[1]]


@dataclass(frozen=True, slots=True)
class AllowedSets:
    """The values of ``scope`` are pairwise different and form one of ``sets``, each an ascending tuple.

    No kind states this type: `sets.allowed_sets` rewrites a ``Sum`` over pairwise different variables into it.
    """

    scope: tuple[int, ...]
    sets: tuple[tuple[int, ...], ...]
    role: str

    def holds(self, assignment: Sequence[int]) -> bool:
        """Return whether the values form one of the sets."""
        return tuple(sorted(assignment[v] for v in self.scope)) in self.sets


Constraint = AllDifferent | Sum | NotEqual | Less | AllowedSets
