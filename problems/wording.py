"""What is wrong with an assignment, in the words of people who do puzzles: which rule is broken, where, and by what.

Variables are named by whoever asks: a kind's ``name`` makes ``r1c5`` of a number.
"""

from __future__ import annotations

from collections import defaultdict
from collections.abc import Callable, Iterable, Sequence
from functools import singledispatch

from cagematch.problems.constraints import AllDifferent, Constraint, Less, NotEqual, Sum

Name = Callable[[int], str]
MOST = 9  # values or places that are listed


@singledispatch
def broken(constraint: Constraint, assignment: Sequence[int], name: Name) -> str:
    """Tell how an assignment breaks a constraint.

    >>> broken(Sum((0, 1), 12, "cage"), [5, 4], "r1c{}".format)
    'cage r1c0 r1c1: the sum is 9, expected 12'
    """
    values = few(assignment[v] for v in constraint.scope)
    return f"{_placed(constraint, name)}: {values} cannot stand there"


@broken.register
def _(constraint: AllDifferent | NotEqual, assignment: Sequence[int], name: Name) -> str:
    return f"{constraint.role}: {_alike(constraint.scope, assignment, name)}"


@broken.register
def _(constraint: Sum, assignment: Sequence[int], name: Name) -> str:
    found = sum(assignment[v] for v in constraint.scope)
    return f"{_placed(constraint, name)}: the sum is {found}, expected {constraint.total}"


@broken.register
def _(constraint: Less, assignment: Sequence[int], name: Name) -> str:
    less, more = constraint.scope
    told = f"{name(less)} is {assignment[less]}, expected less than {name(more)}, which is {assignment[more]}"
    return f"{constraint.role}: {told}"


def few(values: Iterable[object], between: str = ", ") -> str:
    """The first values, and dots where there are more."""
    listed = list(map(str, values))
    return between.join(listed[:MOST] + ["…"] * (len(listed) > MOST))


def _placed(constraint: Constraint, name: Name) -> str:
    return f"{constraint.role} {few(map(name, constraint.scope), ' ')}"


def _alike(scope: Sequence[int], assignment: Sequence[int], name: Name) -> str:
    """``r3c4 and r3c7 are both 5``, for each value that stands more than once."""
    places: dict[int, list[str]] = defaultdict(list)
    for variable in scope:
        places[assignment[variable]].append(name(variable))
    repeated = [(value, where) for value, where in places.items() if len(where) > 1]
    return "; ".join(
        f"{', '.join(where[:-1])} and {where[-1]} are {'both' if len(where) == 2 else 'all'} {value}"
        for value, where in repeated
    )
