"""Runs on cores that another tenant used, detected by the core speed probes.

No kernel counter shows this on a virtual machine: see `workers.machine.speed`. A probe slower than the bound of its
host marks its run as disturbed. If more than a tenth of the time is affected, all runs around it are marked. The other
tenant then also uses the caches and the memory of the host between the probes.
"""

from __future__ import annotations

from collections import Counter, defaultdict
from dataclasses import dataclass, field
from math import inf
from typing import Any

from sqlalchemy import ColumnElement, Connection, func, select

from cagematch.models import Shift, Worker

BEST = 10  # the best of a host is the fastest tenth of its measurements, as the fastest one may be an outlier
SHARED = 1.25  # ratio to the best: probes of an unshared core differ by a few percent, of a shared one by a hundred
OFTEN = 0.10  # share of the time around a run; a shared core takes twice the time, so the host is a tenth slower
AROUND_S = 10.0


@dataclass(slots=True)
class ProbeTimes:
    """The runs of a shift that have a probe.

    Parameters
    ----------
    slowed
        The number of slowed runs by configuration.
    wall_s, slowed_s
        The wall time of all runs, and of the slowed ones.
    """

    slowed: Counter[str] = field(default_factory=Counter)
    wall_s: float = 0.0
    slowed_s: float = 0.0

    def add(self, configuration: str, runs: int, wall_s: float, *, slow: bool) -> None:
        """Add runs of a configuration, either all slowed or none."""
        self.wall_s += wall_s
        if slow:
            self.slowed[configuration] += runs
            self.slowed_s += wall_s


def best_of(connection: Connection, host_id: int) -> float:
    """Return the best probe time of a host over all batches, in seconds; infinity without a measurement."""
    found = best_where(connection, Shift.worker_id.in_(select(Worker.id).where(Worker.host_id == host_id)))
    return inf if found is None else found


def best_where(connection: Connection, which: ColumnElement[bool]) -> float | None:
    """Return the best probe time of some shifts, in seconds; None without a measurement."""
    measured = select(Shift.reference_s).where(which, Shift.reference_s.is_not(None))
    count = connection.scalar(select(func.count()).select_from(measured.subquery())) or 0
    return connection.scalar(measured.order_by(Shift.reference_s).offset(count // BEST).limit(1))


def shares_around(shifts: list[Any], probes: dict[int, ProbeTimes]) -> dict[int, float]:
    """Return the slowed share of the host's solving time during each shift and AROUND_S seconds around it.

    Parameters
    ----------
    shifts
        The shifts of one host.
    probes
        The probe times by shift id.

    Returns
    -------
    dict
        The share, from 0 to 1, by shift id.
    """
    wall_s: defaultdict[int, float] = defaultdict(float)
    slowed_s: defaultdict[int, float] = defaultdict(float)
    for shift in shifts:
        spans, seen = _spans(shift), probes.get(shift.id, ProbeTimes())
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
    """Return the indices of the spans of AROUND_S seconds that a shift overlaps."""
    return range(int(shift.began_at // AROUND_S), int((shift.began_at + (shift.seconds or 0.0)) // AROUND_S) + 1)
