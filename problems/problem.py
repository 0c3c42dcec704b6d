"""The solver-neutral form of a puzzle, and the puzzle itself."""

from __future__ import annotations

import hashlib
from collections.abc import Callable, Iterator, Sequence
from dataclasses import dataclass
from functools import cached_property
from operator import contains

from cagematch.problems.constraints import Constraint
from cagematch.problems.wording import Name, few, violation

# Maps a solution of a permuted puzzle to a solution of the original puzzle.
Restore = Callable[[Sequence[int]], list[int]]


@dataclass(frozen=True, eq=False)
class Rules:
    """Variables with finite domains, and constraints over them: the same for every puzzle of a shape.

    Kinds return one object per shape, and objects compare by identity. So a backend can cache what it derives from
    the rules at no cost.

    Parameters
    ----------
    domains
        One ascending tuple of integers per variable.
    constraints
        The constraints; the variables in their scopes are indices into ``domains``.
    """

    domains: tuple[tuple[int, ...], ...]
    constraints: tuple[Constraint, ...]


@dataclass(frozen=True, eq=False)
class Problem:
    """Rules, and the givens of one puzzle as (variable, value) pairs."""

    rules: Rules
    givens: tuple[tuple[int, int], ...] = ()

    @property
    def constraints(self) -> tuple[Constraint, ...]:
        """The constraints of the rules."""
        return self.rules.constraints

    @cached_property
    def values(self) -> tuple[tuple[int, ...], ...]:
        """The domain of each variable; a single value for a given."""
        left = list(self.rules.domains)
        for variable, value in self.givens:
            left[variable] = (value,)
        return tuple(left)

    def violations(self, assignment: Sequence[int], name: Name = "variable {}".format) -> Iterator[str]:
        """Describe each violated constraint, given and domain.

        Parameters
        ----------
        assignment
            The values to check.
        name
            Returns the name of a variable for the messages, such as ``r1c5``.

        Yields
        ------
        str
            One message per violation; none for a solution.
        """
        if len(assignment) != len(self.rules.domains):
            yield f"found {len(assignment)} values, expected {len(self.rules.domains)}"
            return
        for variable, (value, allowed) in enumerate(zip(assignment, self.values, strict=True)):
            if value not in allowed:
                given = allowed != self.rules.domains[variable]
                expected = f"but the puzzle gives {allowed[0]}" if given else f"not one of {few(allowed)}"
                yield f"{name(variable)} is {value}, {expected}"
        for constraint in self.constraints:
            if not constraint.holds(assignment):
                yield violation(constraint, assignment, name)

    def is_solution(self, assignment: Sequence[int]) -> bool:
        """Return whether ``assignment`` obeys the domains, the givens and every constraint."""
        # The same checks as `violations`, without messages: every stored solution passes through here.
        return (
            len(assignment) == len(self.rules.domains)
            and all(map(contains, self.values, assignment))
            and all(constraint.holds(assignment) for constraint in self.constraints)
        )


@dataclass(frozen=True, slots=True)
class Puzzle:
    """One instance: its kind and its canonical text, and the label that the file gives it."""

    kind: str
    text: str
    label: str = ""

    @property
    def fingerprint(self) -> bytes:
        """SHA-256 of kind and canonical text (32 bytes): equal puzzles have equal fingerprints."""
        return hashlib.sha256(f"{self.kind}\n{self.text}".encode()).digest()
