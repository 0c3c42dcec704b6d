"""The direct encoding as clauses, for solvers that know nothing else.

A row of weights one and a sum of at most one is told pair by pair. Any other row is told as a decision diagram: a
literal for each sum that the first variables can have, after Eén and Sörensson, "Translating Pseudo-Boolean
Constraints into SAT" (2006).
"""

from __future__ import annotations

from collections.abc import Iterable, Iterator
from dataclasses import dataclass, replace
from functools import lru_cache
from itertools import combinations, count, groupby

from cagematch.problems.problem import Rules
from cagematch.problems.rewrite import Direct, LinearRow, direct

Clause = tuple[int, ...]
Pairs = tuple[tuple[int, int], ...]  # variables and the values that they have


@dataclass(frozen=True, slots=True)
class Clauses:
    """Clauses over literals as DIMACS writes them: atom a of the encoding is literal a + 1, others are auxiliary.

    ``roles`` counts the clauses by the role of the row that they come from.
    """

    encoding: Direct
    clauses: tuple[Clause, ...]
    literals: int
    roles: dict[str, int]

    def givens(self, pairs: Pairs) -> list[int]:
        """The literals of a puzzle's givens."""
        return [self.encoding.number[pair] + 1 for pair in pairs]


@lru_cache(maxsize=64)
def clauses(rules: Rules) -> Clauses:
    """Encode the rules."""
    encoding = direct(rules)
    return _encoded(encoding, encoding.rows)


def reduced(rules: Rules, givens: Pairs) -> Clauses:
    """Encode what a puzzle's givens leave open, and tell what they settle by clauses of one literal.

    Of rows of weights one, which let one atom hold at most, nothing is left that unit propagation from the givens
    decides; rows of another form are left as they are. Givens that contradict each other leave clauses that do, too.
    Rows that begin with the same variable lie beside each other.
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
    """Whether a row says no more than that one of its atoms holds, or at most one does."""
    return row.high == 1 and not row.link and set(row.weights) == {1}


def _settled(todo: list[int], rows: tuple[tuple[LinearRow, ...], ...]) -> tuple[set[int], set[int]]:
    """The atoms that hold because those do, and the atoms that do not, as far as simple rows tell one by one."""
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
    """Of each atom the simple rows that it is in."""
    encoding = direct(rules)
    found: list[list[LinearRow]] = [[] for _ in encoding.atoms]
    for row in filter(_is_simple, encoding.rows):
        for atom in row.atoms:
            found[atom].append(row)
    return tuple(map(tuple, found))


def _open(row: LinearRow, true: set[int], false: set[int]) -> LinearRow | None:
    """What is left of a simple row; None where nothing is. One that cannot hold any more stays as it is."""
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
    """None of either side without one of the other; at most one of the first, as of the others one is chosen anyway."""
    ones, others = ([a + 1 for a, w in zip(row.atoms, row.weights, strict=True) if w == side] for side in (1, -1))
    yield from ((-literal, *others) for literal in ones)
    yield from ((-literal, *ones) for literal in others)
    yield from ((-a, -b) for a, b in combinations(ones, 2))


def _diagram(row: LinearRow, encoding: Direct, fresh: Iterator[int]) -> Iterator[Clause]:
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


def _steps(row: LinearRow, encoding: Direct) -> Iterator[list[tuple[Clause, int]]]:
    """For each variable of a row, what it may add to the sum, and the literals one of which holds unless it does."""
    pairs = zip(row.atoms, row.weights, strict=True)
    for variable, group in groupby(pairs, key=lambda pair: encoding.atoms[pair[0]][0]):
        step: list[tuple[Clause, int]] = [((-(atom + 1),), weight) for atom, weight in group]
        if len(step) < sum(v == variable for v, _ in encoding.atoms):  # it may have a value that adds nothing
            step.append((tuple(-literal for (literal,), _ in step), 0))
        yield step
