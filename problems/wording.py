"""Messages about violated constraints: which rule is violated, where, and by which values.

The caller provides the names of variables: a kind's ``name`` returns ``r1c5`` for an index.
"""

from __future__ import annotations

from collections import defaultdict
from collections.abc import Callable, Iterable, Sequence
from functools import singledispatch

from cagematch.problems.constraints import AllDifferent, Constraint, Less, NotEqual, Sum

Name = Callable[[int], str]
MOST = 9  # values or places in a list


@singledispatch
def violation(constraint: Constraint, assignment: Sequence[int], name: Name) -> str:
    """Describe how an assignment violates a constraint.

    >>> violation(Sum((0, 1), 12, "cage"), [5, 4], "r1c{}".format)
    'cage r1c0 r1c1: the sum is 9, expected 12'
    """
    values = few(assignment[v] for v in constraint.scope)
    return f"{_placed(constraint, name)}: the values {values} are not an allowed combination"


@violation.register
def _(constraint: AllDifferent | NotEqual, assignment: Sequence[int], name: Name) -> str:
    return f"{constraint.role}: {_alike(constraint.scope, assignment, name)}"


@violation.register
def _(constraint: Sum, assignment: Sequence[int], name: Name) -> str:
    found = sum(assignment[v] for v in constraint.scope)
    return f"{_placed(constraint, name)}: the sum is {found}, expected {constraint.total}"


@violation.register
def _(constraint: Less, assignment: Sequence[int], name: Name) -> str:
    less, more = constraint.scope
    found = f"{name(less)} is {assignment[less]}, expected less than {name(more)}, which is {assignment[more]}"
    return f"{constraint.role}: {found}"


def few(values: Iterable[object], between: str = ", ") -> str:
    """Join the first nine values; an ellipsis stands for the rest."""
    texts = list(map(str, values))
    return between.join(texts[:MOST] + ["…"] * (len(texts) > MOST))


def _placed(constraint: Constraint, name: Name) -> str:
    return f"{constraint.role} {few(map(name, constraint.scope), ' ')}"


def _alike(scope: Sequence[int], assignment: Sequence[int], name: Name) -> str:
    """``r3c4 and r3c7 are both 5``, for each value that appears more than once."""
    places: dict[int, list[str]] = defaultdict(list)
    for variable in scope:
        places[assignment[variable]].append(name(variable))
    repeated = [(value, where) for value, where in places.items() if len(where) > 1]
    return "; ".join(
        f"{', '.join(where[:-1])} and {where[-1]} are {'both' if len(where) == 2 else 'all'} {value}"
        for value, where in repeated
    )
