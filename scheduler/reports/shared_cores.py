"""Runs whose core was shared with another program, found by the core speed probes.

No kernel counter shows this on a virtual machine: see `workers.machine.speed`. A probe slower than the host's bound
marks its run as disturbed. Where more than a tenth of the time is affected, all runs around are marked: a program that
runs for so long also uses the caches and the memory of the host between the probes.
"""

from __future__ import annotations

from collections import Counter, defaultdict
from dataclasses import dataclass, field
from math import inf
from typing import Any

from sqlalchemy import ColumnElement, Connection, func, select

from cagematch.models import Shift, Worker

BEST = 10  # of a host's measurements one in so many may be faster than its best, which is not to be a lucky moment
SHARED = 1.25  # over its best: two looks at a core that nobody else uses differ by a few percent, others by a hundred
OFTEN = 0.10  # of the time around a run: it doubles, so that the host was a tenth slower on average
AROUND_S = 10.0


@dataclass(slots=True)
class ProbeTimes:
    """The slowed runs of a shift by configuration; the seconds of all that have a look, and of these."""

    slowed: Counter[str] = field(default_factory=Counter)
    wall_s: float = 0.0
    slowed_s: float = 0.0

    def add(self, configuration: str, runs: int, wall_s: float, *, slow: bool) -> None:
        """Take some more that were all slowed, or none of them."""
        self.wall_s += wall_s
        if slow:
            self.slowed[configuration] += runs
            self.slowed_s += wall_s


def best_of(connection: Connection, host_id: int) -> float:
    """What the reference takes beside runs on a host at its best, in whichever batch; infinity where nothing tells."""
    found = best_where(connection, Shift.worker_id.in_(select(Worker.id).where(Worker.host_id == host_id)))
    return inf if found is None else found


def best_where(connection: Connection, which: ColumnElement[bool]) -> float | None:
    """The same of some shifts; None where none of them has measured anything."""
    measured = select(Shift.reference_s).where(which, Shift.reference_s.is_not(None))
    count = connection.scalar(select(func.count()).select_from(measured.subquery())) or 0
    return connection.scalar(measured.order_by(Shift.reference_s).offset(count // BEST).limit(1))


def shares_around(shifts: list[Any], looks: dict[int, ProbeTimes]) -> dict[int, float]:
    """Of each shift, the share of the solving time of its host that was slowed then and within some seconds."""
    wall_s: defaultdict[int, float] = defaultdict(float)
    slowed_s: defaultdict[int, float] = defaultdict(float)
    for shift in shifts:
        spans, seen = _spans(shift), looks.get(shift.id, ProbeTimes())
        for span in spans:
            wall_s[span] += seen.wall_s / len(spans)
            slowed_s[span] += seen.slowed_s / len(spans)
    found = {}
    for shift in shifts:
        spans = _spans(shift)
        around = range(spans.start - 1, spans.stop + 1)
        solving_s = sum(wall_s[span] for span in around)
        found[shift.id] = sum(slowed_s[span] for span in around) / solving_s if solving_s else 0.0
    return found


def _spans(shift: Any) -> range:
    """The numbers of the spans of time that a shift touches."""
    return range(int(shift.began_at // AROUND_S), int((shift.began_at + (shift.seconds or 0.0)) // AROUND_S) + 1)
