"""Sums over pairwise different variables, rewritten as the sets of values that add up to the total.

A cage of two cells with sum 15 contains 6 and 9, or 7 and 8. Sets state this explicitly; with an equation the solver
has to derive it. Like all rewritings, this one depends on the rules alone, and its result is cached.
"""

from __future__ import annotations

from collections.abc import Iterator
from functools import lru_cache
from itertools import islice

from cagematch.problems.constraints import AllDifferent, AllowedSets, Constraint, Sum
from cagematch.problems.problem import Rules

MOST_SETS = 1_000  # with more sets than this, the equation is kept: it is far smaller


@lru_cache(maxsize=64)
def allowed_sets(rules: Rules) -> Rules:
    """Rewrite each ``Sum`` over pairwise different variables as an ``AllowedSets``.

    An ``AllDifferent`` over exactly the same variables is implied and therefore removed. A ``Sum`` with no set, or
    with more than 1,000 sets, is kept. Variables are unchanged, so givens and solutions remain valid.
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
    """Return the rules in the formulation that the parameter ``cages`` selects: ``sum`` (unchanged) or ``sets``."""
    return allowed_sets(rules) if cages == "sets" else rules


def _adding_up(values: tuple[int, ...], size: int, total: int) -> Iterator[tuple[int, ...]]:
    """Yield every subset of ``size`` values that adds up to the total; ``values`` is ascending, as is each subset."""
    if size == 0:
        if total == 0:
            yield ()
        return
    for at in range(len(values) - size + 1):
        if sum(values[at : at + size]) > total:  # the smallest remaining sum
            return
        if values[at] + sum(values[len(values) - size + 1 :]) >= total:
            yield from ((values[at], *rest) for rest in _adding_up(values[at + 1 :], size - 1, total - values[at]))
