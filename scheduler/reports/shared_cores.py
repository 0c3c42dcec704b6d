"""Which runs had a core that somebody else used too, where no counter of the kernel tells: by looks beside each run.

See `workers.speed`. A look that took longer than the host's bound puts its run in doubt. Where that is so for more than
a fifth of the time, it puts every run around in doubt: whoever is at work there for so long uses the caches and the
memory of the host in between, too.
"""

from __future__ import annotations

from collections import Counter, defaultdict
from dataclasses import dataclass, field
from typing import Any

from sqlalchemy import Connection, case, func, select, union_all

from models import Configuration, Run, Shift, Worker
from scheduler.reports.scope import Scope, over, slowed

BEST = 10  # of a host's measurements one in so many may be faster than its best, which is not to be a lucky moment
SHARED = 1.25  # over its best: two looks at a core that nobody else uses differ by a few percent, others by a hundred
OFTEN = 0.20  # of the time around a run
AROUND_S = 5.0


@dataclass(slots=True)
class Looks:
    """The slowed runs of a shift by configuration; the seconds of all that have a look, and of these."""

    slowed: Counter[str] = field(default_factory=Counter)
    wall_s: float = 0.0
    slowed_s: float = 0.0


def best_of(connection: Connection, host_id: int) -> float:
    """What the reference takes on a host at its best, in whichever batch."""
    of_shifts = select(Shift.reference_s).join(Worker, Worker.id == Shift.worker_id).where(Worker.host_id == host_id)
    of_workers = select(Worker.reference_s).where(Worker.host_id == host_id)
    measured = union_all(of_shifts.where(Shift.reference_s.is_not(None)), of_workers).subquery()
    count = connection.scalar(select(func.count()).select_from(measured)) or 0
    ordered = select(measured.c.reference_s).order_by(measured.c.reference_s)
    return float(connection.execute(ordered.offset(count // BEST).limit(1)).scalar_one())


def looked_at(connection: Connection, covered: Scope, bounds: dict[int, float]) -> dict[int, Looks]:
    """Of each shift, the runs that have a look at their core. ``bounds``: seconds that a look may take, by host."""
    slow = case((slowed(Run, bounds.items()), 1), else_=0)
    columns = (Run.shift_id, Configuration.text, slow)
    theirs = over(select(*columns, func.count(), func.sum(Run.wall_s)), covered)
    rows = theirs.join(Configuration, Configuration.id == Run.configuration_id).where(
        Run.shift_id.is_not(None), Run.reference_s.is_not(None)
    )
    found: defaultdict[int, Looks] = defaultdict(Looks)
    shift_id: Any  # not NULL, as asked for
    for shift_id, text, was_slow, count, wall_s in connection.execute(rows.group_by(*columns)):
        looks = found[shift_id]
        looks.wall_s += wall_s
        if was_slow:
            looks.slowed[text] += count
            looks.slowed_s += wall_s
    return found


def shares_around(shifts: list[Any], looks: dict[int, Looks]) -> dict[int, float]:
    """Of each shift, the share of the solving time of its host that was slowed then and within some seconds."""
    wall_s: defaultdict[int, float] = defaultdict(float)
    slowed_s: defaultdict[int, float] = defaultdict(float)
    for shift in shifts:
        spans = _spans(shift)
        for span in spans:
            wall_s[span] += looks[shift.id].wall_s / len(spans)
            slowed_s[span] += looks[shift.id].slowed_s / len(spans)
    found = {}
    for shift in shifts:
        spans = _spans(shift)
        around = range(spans.start - 1, spans.stop + 1)
        found[shift.id] = sum(slowed_s[span] for span in around) / sum(wall_s[span] for span in around)
    return found


def _spans(shift: Any) -> range:
    """The numbers of the spans of time that a shift touches."""
    return range(int(shift.began_at // AROUND_S), int((shift.began_at + (shift.seconds or 0.0)) // AROUND_S) + 1)
