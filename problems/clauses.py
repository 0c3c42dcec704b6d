"""The direct encoding as clauses, for solvers that know nothing else.

A row of weights one and a sum of at most one is told pair by pair. Any other row is told as a decision diagram: a
literal for each sum that the first variables can have, after Eén and Sörensson, "Translating Pseudo-Boolean
Constraints into SAT" (2006).
"""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass
from functools import lru_cache
from itertools import combinations, count, groupby

from problems.problem import Rules
from problems.rewrite import Direct, Row, direct

Clause = tuple[int, ...]


@dataclass(frozen=True, slots=True)
class Clauses:
    """Clauses over literals as DIMACS writes them: atom a of the encoding is literal a + 1, others are auxiliary.

    ``roles`` counts the clauses by the role of the row that they come from.
    """

    encoding: Direct
    clauses: tuple[Clause, ...]
    literals: int
    roles: dict[str, int]

    def givens(self, pairs: tuple[tuple[int, int], ...]) -> list[int]:
        """The literals of a puzzle's givens."""
        return [self.encoding.number[pair] + 1 for pair in pairs]


@lru_cache(maxsize=64)
def clauses(rules: Rules) -> Clauses:
    """Encode the rules."""
    encoding = direct(rules)
    fresh = count(len(encoding.atoms) + 1)
    found: list[Clause] = []
    roles: dict[str, int] = {}
    for row in encoding.rows:
        before = len(found)
        if row.link:
            found += _linked(row)
        elif row.high == 1 and set(row.weights) == {1}:
            found += _at_most_one(row)
        else:
            found += _diagram(row, encoding, fresh)
        roles[row.role] = roles.get(row.role, 0) + len(found) - before
    return Clauses(encoding, tuple(found), next(fresh) - 1, roles)


def _at_most_one(row: Row) -> Iterator[Clause]:
    literals = tuple(atom + 1 for atom in row.atoms)
    if row.low:
        yield literals
    yield from ((-a, -b) for a, b in combinations(literals, 2))


def _linked(row: Row) -> Iterator[Clause]:
    """None of either side without one of the other; at most one of the first, as of the others one is chosen anyway."""
    ones, others = ([a + 1 for a, w in zip(row.atoms, row.weights, strict=True) if w == side] for side in (1, -1))
    yield from ((-literal, *others) for literal in ones)
    yield from ((-literal, *ones) for literal in others)
    yield from ((-a, -b) for a, b in combinations(ones, 2))


def _diagram(row: Row, encoding: Direct, fresh: Iterator[int]) -> Iterator[Clause]:
    """From each sum of the variables so far, each value leads on to another, or nowhere."""
    steps = list(_steps(row, encoding))
    least, most = (sum(pick(weight for _, weight in step) for step in steps) for pick in (min, max))
    sums: dict[int, Clause] = {0: ()}  # what a sum is reached under: the negation of its literal; of the first, nothing
    for step in steps:
        least -= min(weight for _, weight in step)
        most -= max(weight for _, weight in step)
        further: dict[int, Clause] = {}
        for total, under in sums.items():
            for unless, weight in step:
                after = total + weight
                if after + least > row.high or after + most < row.low:
                    yield (*under, *unless)
                    continue
                if after not in further:
                    further[after] = (-next(fresh),)
                yield (*under, *unless, -further[after][0])
        sums = further


def _steps(row: Row, encoding: Direct) -> Iterator[list[tuple[Clause, int]]]:
    """For each variable of a row, what it may add to the sum, and the literals one of which holds unless it does."""
    pairs = zip(row.atoms, row.weights, strict=True)
    for variable, group in groupby(pairs, key=lambda pair: encoding.atoms[pair[0]][0]):
        step: list[tuple[Clause, int]] = [((-(atom + 1),), weight) for atom, weight in group]
        if len(step) < sum(v == variable for v, _ in encoding.atoms):  # it may have a value that adds nothing
            step.append((tuple(-literal for (literal,), _ in step), 0))
        yield step
