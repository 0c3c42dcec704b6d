"""The direct encoding as clauses, for SAT solvers.

An at-most-one row is encoded pairwise: one clause per pair of atoms. Any other row is encoded as a decision diagram
with one auxiliary literal per partial sum.

Source: Eén and Sörensson, "Translating Pseudo-Boolean Constraints into SAT" (2006).
"""

from __future__ import annotations

from collections.abc import Iterable, Iterator
from dataclasses import dataclass, replace
from functools import lru_cache
from itertools import combinations, count, groupby

from cagematch.problems.problem import Rules
from cagematch.problems.rewrite import Direct, LinearRow, direct

Clause = tuple[int, ...]
Pairs = tuple[tuple[int, int], ...]  # (variable, value)


@dataclass(frozen=True, slots=True)
class Clauses:
    """Clauses in DIMACS form: literal a + 1 is atom a of the encoding, and a negative literal is its negation.

    Parameters
    ----------
    encoding
        The direct encoding that the clauses state.
    clauses
        Each clause as a tuple of literals.
    literals
        The number of literals, including the auxiliary ones that follow the atoms.
    roles
        The number of clauses by the role of the row they encode.
    """

    encoding: Direct
    clauses: tuple[Clause, ...]
    literals: int
    roles: dict[str, int]

    def givens(self, pairs: Pairs) -> list[int]:
        """Return the literals of a puzzle's givens."""
        return [self.encoding.number[pair] + 1 for pair in pairs]


@lru_cache(maxsize=64)
def clauses(rules: Rules) -> Clauses:
    """Encode the rules."""
    encoding = direct(rules)
    return _encoded(encoding, encoding.rows)


def reduced(rules: Rules, givens: Pairs) -> Clauses:
    """Encode the rules simplified by a puzzle's givens.

    At-most-one rows are simplified by unit propagation from the givens; all other rows are kept. The values that
    propagation decides become unit clauses. Contradictory givens result in contradictory clauses.
    Rows are sorted by their first atom, so that rows over the same variables are adjacent.
    """
    encoding = direct(rules)
    true, false = _settled([encoding.number[pair] for pair in givens], _simple_rows(rules))
    rows = (_open(row, true, false) if _is_simple(row) else row for row in encoding.rows)
    found = _encoded(encoding, sorted(filter(None, rows), key=lambda row: min(row.atoms)))
    units = (*((atom + 1,) for atom in sorted(true)), *((-atom - 1,) for atom in sorted(false)))
    return Clauses(encoding, found.clauses + units, found.literals, found.roles)


def _encoded(encoding: Direct, rows: Iterable[LinearRow]) -> Clauses:
    fresh = count(len(encoding.atoms) + 1)
    found: list[Clause] = []
    roles: dict[str, int] = {}
    for row in rows:
        before = len(found)
        if row.link:
            found += _linked(row)
        elif _is_simple(row):
            found += _at_most_one(row)
        else:
            found += _diagram(row, encoding, fresh)
        roles[row.role] = roles.get(row.role, 0) + len(found) - before
    return Clauses(encoding, tuple(found), next(fresh) - 1, roles)


def _is_simple(row: LinearRow) -> bool:
    """Return whether a row states that exactly one, or at most one, of its atoms holds."""
    return row.high == 1 and not row.link and set(row.weights) == {1}


def _settled(todo: list[int], rows: tuple[tuple[LinearRow, ...], ...]) -> tuple[set[int], set[int]]:
    """Propagate atoms through the simple rows: return the atoms that are true, and those that are false."""
    true, false = set[int](), set[int]()
    while todo:
        if (atom := todo.pop()) in true:
            continue
        true.add(atom)
        for other in {a for row in rows[atom] for a in row.atoms} - {atom} - false:
            false.add(other)
            for row in rows[other]:
                if row.low and len(left := [a for a in row.atoms if a not in false]) == 1:
                    todo += left
    return true, false


@lru_cache(maxsize=64)
def _simple_rows(rules: Rules) -> tuple[tuple[LinearRow, ...], ...]:
    """For each atom, the simple rows that contain it."""
    encoding = direct(rules)
    found: list[list[LinearRow]] = [[] for _ in encoding.atoms]
    for row in filter(_is_simple, encoding.rows):
        for atom in row.atoms:
            found[atom].append(row)
    return tuple(map(tuple, found))


def _open(row: LinearRow, true: set[int], false: set[int]) -> LinearRow | None:
    """Remove the false atoms from a simple row; None if it is satisfied. An unsatisfiable row is kept unchanged."""
    if not true.isdisjoint(row.atoms):
        return None
    left = tuple(atom for atom in row.atoms if atom not in false)
    return replace(row, atoms=left, weights=(1,) * len(left)) if left else row if row.low else None


def _at_most_one(row: LinearRow) -> Iterator[Clause]:
    literals = tuple(atom + 1 for atom in row.atoms)
    if row.low:
        yield literals
    yield from ((-a, -b) for a, b in combinations(literals, 2))


def _linked(row: LinearRow) -> Iterator[Clause]:
    """A literal of either side implies one of the other side; at most one of the first side holds.

    At most one of the second side holds by another row, so that needs no clause here.
    """
    ones, others = ([a + 1 for a, w in zip(row.atoms, row.weights, strict=True) if w == side] for side in (1, -1))
    yield from ((-literal, *others) for literal in ones)
    yield from ((-literal, *ones) for literal in others)
    yield from ((-a, -b) for a, b in combinations(ones, 2))


def _diagram(row: LinearRow, encoding: Direct, fresh: Iterator[int]) -> Iterator[Clause]:
    """Encode a weighted row: from each partial sum, each value of the next variable leads to a sum or is forbidden."""
    steps = list(_steps(row, encoding))
    least, most = (sum(pick(weight for _, weight in step) for step in steps) for pick in (min, max))
    sums: dict[int, Clause] = {0: ()}  # partial sum → its negated literal, which the initial sum does not need
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


def _steps(row: LinearRow, encoding: Direct) -> Iterator[list[tuple[Clause, int]]]:
    """For each variable of a row: the weights it can add, each with the literals that are false if it does."""
    pairs = zip(row.atoms, row.weights, strict=True)
    for variable, group in groupby(pairs, key=lambda pair: encoding.atoms[pair[0]][0]):
        step: list[tuple[Clause, int]] = [((-(atom + 1),), weight) for atom, weight in group]
        if len(step) < sum(v == variable for v, _ in encoding.atoms):  # the remaining values add nothing
            step.append((tuple(-literal for (literal,), _ in step), 0))
        yield step
