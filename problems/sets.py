"""Sums over variables that differ, as the sets of values that add up to them.

A cage of two cells with sum 15 holds 6 and 9, or 7 and 8: said at once, where an equation leaves it to be found out.
Like all rewritings it depends on the rules alone, and its result is kept and shared.
"""

from __future__ import annotations

from collections.abc import Iterator
from functools import lru_cache
from itertools import islice

from cagematch.problems.constraints import AllDifferent, AllowedSets, Constraint, Sum
from cagematch.problems.problem import Rules

MOST_SETS = 1_000  # where more sets than these add up to a sum, an equation says it shorter


@lru_cache(maxsize=64)
def allowed_sets(rules: Rules) -> Rules:
    """Turn each ``Sum`` over variables that differ into the sets of values that add up to it.

    An ``AllDifferent`` over the very same variables is then said as well, and left out. Variables stay what they are,
    so givens and solutions do, too.
    """
    different = [set(c.scope) for c in rules.constraints if isinstance(c, AllDifferent)]
    found: dict[frozenset[int], AllowedSets] = {}
    rewritten: list[Constraint] = []
    for constraint in rules.constraints:
        scope = frozenset(constraint.scope)
        if isinstance(constraint, Sum) and any(scope <= others for others in different):
            values = sorted({value for v in scope for value in rules.domains[v]})
            sets = tuple(islice(_adding_up(tuple(values), len(scope), constraint.total), MOST_SETS + 1))
            if 0 < len(sets) <= MOST_SETS:
                found[scope] = AllowedSets(constraint.scope, sets, constraint.role)
                rewritten.append(found[scope])
                continue
        rewritten.append(constraint)
    kept = (c for c in rewritten if not (isinstance(c, AllDifferent) and frozenset(c.scope) in found))
    return Rules(rules.domains, tuple(kept))


def posted(rules: Rules, cages: str | int) -> Rules:
    """The rules with their cages told the way that the word says: ``sum``, as they are, or ``sets``."""
    return allowed_sets(rules) if cages == "sets" else rules


def _adding_up(values: tuple[int, ...], size: int, total: int) -> Iterator[tuple[int, ...]]:
    """Every set of so many of the values, which ascend, that adds up to the total."""
    if size == 0:
        if total == 0:
            yield ()
        return
    for at in range(len(values) - size + 1):
        if sum(values[at : at + size]) > total:  # the least that is left to choose
            return
        if values[at] + sum(values[len(values) - size + 1 :]) >= total:
            yield from ((values[at], *rest) for rest in _adding_up(values[at + 1 :], size - 1, total - values[at]))
