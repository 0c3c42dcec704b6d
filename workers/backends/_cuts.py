"""Enumeration for solvers that find one solution at a time: cut off each solution and solve again."""

from __future__ import annotations

import time
from collections import Counter
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, replace
from typing import Any

from cagematch.problems.rewrite import Direct
from cagematch.workers.backends.contract import REFUTED, SOLVED, Found, Meaning, Take


@dataclass(frozen=True, slots=True)
class Cutting:
    """An enumeration by repeated solving.

    Parameters
    ----------
    search
        The backend's search.
    forbid
        Adds a cut that excludes a solution from a model.
    statuses
        The backend's ``STATUS``.
    late
        The status to return if the limit is reached between two solves.
    """

    search: Callable[[Any, float], Found]
    forbid: Callable[[Any, Sequence[int]], None]
    statuses: Mapping[Any, Meaning]
    late: object

    def enumerate_all(self, model: Any, limit_s: float, take: Take) -> Found:
        """Solve until there is no further solution. The limit applies to all solves together; counters are added up."""
        deadline = time.monotonic() + limit_s
        counters: Counter[str] = Counter()
        while (left := deadline - time.monotonic()) > 0:
            found = self.search(model, left)
            counters.update(found.counters)
            meaning = self.statuses.get(found.native)
            if meaning is not SOLVED:
                return replace(found, counters=counters, complete=meaning is REFUTED)
            if not take(found.assignment) or found.assignment is None:
                return Found(found.native, None, counters)
            self.forbid(model, found.assignment)
        return Found(self.late, None, counters)


def chosen(encoding: Direct, assignment: Sequence[int]) -> list[int]:
    """Return the atoms of a solution, one per variable of the rules.

    A cut bounds their sum by the number of variables minus one. Auxiliary atoms follow from these and are excluded.
    """
    return [encoding.number[pair] for pair in enumerate(assignment)]
