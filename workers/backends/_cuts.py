"""Every solution by a solver that finds one at a time: what was found is cut off, and the program solved again."""

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
    """How a backend solves its program, and forbids one solution of it.

    ``late`` is its status for a limit crossed: time may be up between two solves.
    """

    search: Callable[[Any, float], Found]
    forbid: Callable[[Any, Sequence[int]], None]
    statuses: Mapping[Any, Meaning]
    late: object

    def enumerate_all(self, model: Any, limit_s: float, take: Take) -> Found:
        """Solve until nothing is left; the limit is that of all solves together, and counters are their sum."""
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
    """The atoms of a solution. Not all of them may hold again: their sum is one less than the variables at most.

    Those that are the encoding's own follow from these, and are left out.
    """
    return [encoding.number[pair] for pair in enumerate(assignment)]
