"""The solver-neutral form of a puzzle, and the puzzle itself."""

from __future__ import annotations

import hashlib
from collections.abc import Callable, Iterator, Sequence
from dataclasses import dataclass
from functools import cached_property
from operator import contains

from cagematch.problems.constraints import Constraint
from cagematch.problems.wording import Name, broken, few

# What turns a solution of a permuted puzzle into one of the puzzle itself.
Restore = Callable[[Sequence[int]], list[int]]


@dataclass(frozen=True, eq=False)
class Rules:
    """Variables with finite domains, and constraints over them: the same for every puzzle of a shape.

    ``domains`` has one ascending tuple of integers a variable. Kinds hand out one object a shape, and
    it is compared by identity, so that what a backend derives from it can be looked up at no cost.
    """

    domains: tuple[tuple[int, ...], ...]
    constraints: tuple[Constraint, ...]


@dataclass(frozen=True, eq=False)
class Problem:
    """Rules, and the (variable, value) pairs that a puzzle gives beforehand."""

    rules: Rules
    givens: tuple[tuple[int, int], ...] = ()

    @property
    def constraints(self) -> tuple[Constraint, ...]:
        """The constraints of the rules."""
        return self.rules.constraints

    @cached_property
    def values(self) -> tuple[tuple[int, ...], ...]:
        """The values that each variable may still take once the givens are placed."""
        left = list(self.rules.domains)
        for variable, value in self.givens:
            left[variable] = (value,)
        return tuple(left)

    def violations(self, assignment: Sequence[int], name: Name = "variable {}".format) -> Iterator[str]:
        """What ``assignment`` breaks, in words; nothing when it is a solution. ``name`` names a variable."""
        if len(assignment) != len(self.rules.domains):
            yield f"{len(assignment)} values for {len(self.rules.domains)} variables"
            return
        for variable, (value, allowed) in enumerate(zip(assignment, self.values, strict=True)):
            if value not in allowed:
                given = allowed != self.rules.domains[variable]
                expected = f"but the puzzle gives {allowed[0]}" if given else f"not one of {few(allowed)}"
                yield f"{name(variable)} is {value}, {expected}"
        for constraint in self.constraints:
            if not constraint.holds(assignment):
                yield broken(constraint, assignment, name)

    def is_solution(self, assignment: Sequence[int]) -> bool:
        """Whether ``assignment`` obeys the domains, the givens and every constraint."""
        # As `violations`, which says what is wrong; this is asked of every solution that is stored.
        return (
            len(assignment) == len(self.rules.domains)
            and all(map(contains, self.values, assignment))
            and all(constraint.holds(assignment) for constraint in self.constraints)
        )


@dataclass(frozen=True, slots=True)
class Puzzle:
    """One instance: its kind, and its canonical text. ``label`` is what the file said beside it."""

    kind: str
    text: str
    label: str = ""

    @property
    def fingerprint(self) -> bytes:
        """SHA-256 of kind and canonical text (32 bytes): equal puzzles have equal fingerprints."""
        return hashlib.sha256(f"{self.kind}\n{self.text}".encode()).digest()
