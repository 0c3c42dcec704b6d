"""Rewritings of rules, for backends that do not support every constraint type.

They are stateless and depend on the rules alone, not on the clues. So their results are cached and shared.
"""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass
from functools import lru_cache
from itertools import combinations

from cagematch.problems.constraints import AllDifferent, AllowedSets, Constraint, Less, NotEqual, Sum
from cagematch.problems.problem import Rules


@lru_cache(maxsize=64)
def pairwise(rules: Rules) -> tuple[Constraint, ...]:
    """Replace each ``AllDifferent`` by one ``NotEqual`` per pair of variables; keep all other constraints.

    A pair in several scopes is stated once. A 9×9 Sudoku has 27 × 36 pairs; 162 of them are both in a line and in a
    box, so 810 remain.
    """
    pairs: dict[tuple[int, int], NotEqual] = {}
    rest: list[Constraint] = []
    for constraint in rules.constraints:
        if isinstance(constraint, AllDifferent):
            for a, b in combinations(sorted(constraint.scope), 2):
                pairs.setdefault((a, b), NotEqual((a, b), constraint.role))
        else:
            rest.append(constraint)
    return (*pairs.values(), *rest)


# The types that `direct` can encode: the ``HANDLES`` of a backend that posts atoms and rows only.
ENCODED = (AllDifferent, Sum, NotEqual, Less, AllowedSets)


@dataclass(frozen=True, slots=True)
class LinearRow:
    """The constraint ``low ≤ Σ weight × atom ≤ high`` over 0/1 atoms.

    A row is an equality (``low == high``), or it has an upper bound only: then ``low`` is 0, which the sum never
    falls below.

    Parameters
    ----------
    atoms, weights
        Indices of atoms, and one weight per atom.
    low, high
        The bounds, both inclusive.
    role
        The role of the constraint that the row states.
    link
        Whether the row has weights 1 and -1 and states that at most one atom of either sign holds, and one
        of both or neither.
    """

    atoms: tuple[int, ...]
    weights: tuple[int, ...]
    low: int
    high: int
    role: str
    link: bool = False


@dataclass(frozen=True, slots=True)
class Direct:
    """The direct encoding: one 0/1 atom per variable and value.

    Parameters
    ----------
    atoms
        The (variable, value) pair of each atom. Variables after those of the rules are auxiliary: the choice of a set
        in an ``AllowedSets``.
    first
        The first atom of each variable of the rules. Its atoms are consecutive, in the order of its domain.
    rows
        The constraints over the atoms.
    number
        The index of each pair in ``atoms``.
    """

    atoms: tuple[tuple[int, int], ...]
    first: tuple[int, ...]
    rows: tuple[LinearRow, ...]
    number: dict[tuple[int, int], int]

    def decode(self, chosen: list[bool]) -> tuple[int, ...] | None:
        """Convert one Boolean per atom into an assignment; None if a variable has no value or several."""
        pairs = [self.atoms[a] for a, taken in enumerate(chosen) if taken and self.atoms[a][0] < len(self.first)]
        if [variable for variable, _ in pairs] != list(range(len(self.first))):
            return None
        return tuple(value for _, value in pairs)


@lru_cache(maxsize=64)
def direct(rules: Rules) -> Direct:
    """Encode the rules with one 0/1 atom per variable and value.

    Each variable has exactly one value: one equality per variable. The other rows by constraint type:

    ``AllDifferent``, ``NotEqual``
        One row per value: an equality if there are as many variables as values, else an upper bound of 1.
    ``Sum``
        One weighted equality. A sum of two variables that pairs off all their values is one link per value.
    ``Less``
        One row per value t of the first variable: not both the first ≥ t and the second ≤ t.
    ``AllowedSets``
        One auxiliary atom per set, exactly one true atom among these, and one link per value.
    """
    choices = [c for c in rules.constraints if isinstance(c, AllowedSets)]
    domains = (*rules.domains, *(range(len(c.sets)) for c in choices))
    atoms = tuple((v, value) for v, domain in enumerate(domains) for value in domain)
    number = {atom: at for at, atom in enumerate(atoms)}
    first = tuple(number[v, domain[0]] for v, domain in enumerate(rules.domains))
    roles = ["cell"] * len(rules.domains) + [c.role for c in choices]
    rows = [
        _row([number[v, value] for value in domain], 1, 1, role)
        for v, (domain, role) in enumerate(zip(domains, roles, strict=True))
    ]
    for constraint in rules.constraints:
        if isinstance(constraint, AllowedSets):
            rows += _links(constraint, rules, choices.index(constraint), number)
        else:
            rows += _encode(constraint, rules, number)
    return Direct(atoms, first, tuple(rows), number)


def _encode(constraint: Constraint, rules: Rules, number: dict[tuple[int, int], int]) -> list[LinearRow]:
    scope, role = constraint.scope, constraint.role
    if isinstance(constraint, Sum):
        if same := _aliases(constraint, rules, number):
            return same
        pairs = [(number[v, value], value) for v in scope for value in rules.domains[v]]
        total = constraint.total
        return [LinearRow(tuple(a for a, _ in pairs), tuple(value for _, value in pairs), total, total, role)]
    if isinstance(constraint, Less):
        return _less(constraint, rules, number)
    values = sorted({value for v in scope for value in rules.domains[v]})
    low = int(isinstance(constraint, AllDifferent) and len(values) == len(scope))
    holders = ([number[v, value] for v in scope if (v, value) in number] for value in values)
    return [_row(atoms, low, 1, role) for atoms in holders]


def _less(constraint: Less, rules: Rules, number: dict[tuple[int, int], int]) -> list[LinearRow]:
    a, b = constraint.scope
    rows = []
    for t in rules.domains[a]:
        smaller = [number[b, value] for value in rules.domains[b] if value <= t]
        if smaller:
            larger = [number[a, value] for value in rules.domains[a] if value >= t]
            rows.append(_row(larger + smaller, 0, 1, constraint.role))
    return rows


def _links(constraint: AllowedSets, rules: Rules, at: int, number: dict[tuple[int, int], int]) -> Iterator[LinearRow]:
    """For each value: one variable has it if and only if the chosen set contains it."""
    choice = len(rules.domains) + at
    for value in sorted({value for v in constraint.scope for value in rules.domains[v]}):
        holders = [number[v, value] for v in constraint.scope if (v, value) in number]
        having = [number[choice, s] for s, its in enumerate(constraint.sets) if value in its]
        yield _link(holders, having, constraint.role)


def _aliases(constraint: Sum, rules: Rules, number: dict[tuple[int, int], int]) -> list[LinearRow]:
    """Return links for a sum of two variables that pairs off all their values; an empty list for any other sum."""
    if len(constraint.scope) != 2:
        return []
    a, b = constraint.scope
    partners = [constraint.total - value for value in rules.domains[a]]
    if sorted(partners) != list(rules.domains[b]):
        return []
    pairs = zip(rules.domains[a], partners, strict=True)
    return [_link([number[a, one]], [number[b, other]], constraint.role) for one, other in pairs]


def _link(ones: list[int], others: list[int], role: str) -> LinearRow:
    return LinearRow((*ones, *others), (1,) * len(ones) + (-1,) * len(others), 0, 0, role, link=True)


def _row(atoms: list[int], low: int, high: int, role: str) -> LinearRow:
    return LinearRow(tuple(atoms), (1,) * len(atoms), low, high, role)
