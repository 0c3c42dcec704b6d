"""What disturbed runs while they were measured, told so that nobody need know what a hypervisor is.

A shift's row says what its host was like meanwhile (`models.Shift`), and a run's how fast its core was. What is past
a threshold below puts times in doubt, not answers. That programs had to wait for a core is held against a shift only
where its own solves did: those of one thread tell by the time in which they had none. A solve with more threads than
cores makes pressure and load by itself: that is no disturbance, and has a note of its own.
"""

from __future__ import annotations

from collections import Counter, defaultdict
from collections.abc import Iterator
from dataclasses import dataclass, replace
from typing import Any

from sqlalchemy import Connection, case, func, select

from cagematch.models import Host, Run, Shift, StoredConfiguration, Worker
from cagematch.scheduler.reports.scope import Scope, over, slowed
from cagematch.scheduler.reports.shared_cores import OFTEN, SHARED, ProbeTimes, best_of, shares_around

STEAL = 0.02  # of the cores' time
PRESSURE = 0.25  # of the shift; on a host of two cores a worker makes some of it by itself
FELT = 0.10  # of the time of a shift's solves, in which they had no core
DRIFT = 1.10  # over what the host's reference takes at its best: of a shift's better runs
NAMED = 4  # configurations that a line names
Ran = dict[int, Counter[str]]  # of each shift, its runs by configuration


@dataclass(frozen=True, slots=True)
class Disturbance:
    """One way in which runs were disturbed, and the runs by configuration.

    They are those of ``shifts``, and those beside which the reference took longer than the ``bound`` of a host.
    """

    what: str
    runs: Counter[str]
    shifts: frozenset[int] = frozenset()
    bound: tuple[tuple[int, float], ...] = ()

    def __str__(self) -> str:
        count, names = self.runs.total(), sorted(self.runs)
        named = ", ".join(names[:NAMED]) + (f" and {len(names) - NAMED} more" if len(names) > NAMED else "")
        return f"warning: {self.what}, while {count:,} run{'s' * (count != 1)} took place: of {named}"


def disturbances(connection: Connection, covered: Scope) -> list[Disturbance]:
    """Whatever disturbed runs that the scope covers."""
    every = _shifts(connection, covered)
    best = {host_id: best_of(connection, host_id) for host_id in {shift.host_id for shift in every}}
    bounds = {host_id: SHARED * best_s for host_id, best_s in best.items()}
    ran, spared, looks = _runs(connection, covered, bounds)
    shifts = [shift for shift in every if shift.id in ran]
    shared = [shift for shift in shifts if shift.id not in spared]
    found = (_stolen(shifts), _pressed(shared), _crowded(shared), *_drifted(shifts, best))
    told = [Disturbance(what, _sum(of, ran), frozenset(shift.id for shift in of)) for what, of in found if of]
    return told + list(_slowed(shifts, ran, looks, best))


def undisturbed(connection: Connection, covered: Scope) -> Scope:
    """The same without any run of its batches that something disturbed: of the others the newest count then."""
    every = replace(covered, newest=False)
    found = disturbances(connection, every)
    bounds = tuple(bound for one in found for bound in one.bound)
    return replace(covered, without=frozenset().union(*(one.shifts for one in found)), bounds=bounds)


def _runs(
    connection: Connection, covered: Scope, bounds: dict[int, float]
) -> tuple[Ran, set[int], dict[int, ProbeTimes]]:
    """The runs of each shift; the shifts that wanted more cores than they had, or did not want for any; the looks.

    ``bounds``: the seconds that a look may take, by host.
    """
    was_slow = case((Run.reference_s.is_(None), None), (slowed(Run, bounds.items()), 1), else_=0)
    columns = (Run.shift_id, StoredConfiguration.text, Run.threads, Run.cores, was_slow)
    measured = Run.cpu_s.is_not(None)
    sums = (func.count(), func.sum(Run.wall_s), func.sum(Run.cpu_s), func.sum(Run.wall_s).filter(measured))
    theirs = over(select(*columns, *sums), covered).join(
        StoredConfiguration, StoredConfiguration.id == Run.configuration_id
    )
    rows = connection.execute(theirs.where(Run.shift_id.is_not(None)).group_by(*columns))
    ran: Ran = defaultdict(Counter)
    looks: defaultdict[int, ProbeTimes] = defaultdict(ProbeTimes)
    used: defaultdict[tuple[int, int, str], list[float]] = defaultdict(lambda: [0.0, 0.0])
    shift_id: Any  # not NULL, as asked for
    for shift_id, text, threads, cores, slow, count, wall_s, cpu_s, measured_s in rows:
        ran[shift_id][text] += count
        if slow is not None:
            looks[shift_id].add(text, count, wall_s, slow=bool(slow))
        had = used[shift_id, threads, cores]
        had[0], had[1] = had[0] + (cpu_s or 0.0), had[1] + (measured_s or 0.0)
    spared = {
        shift_id
        for (shift_id, threads, cores), (cpu_s, wall_s) in used.items()
        if threads > cores.count(",") + 1 or (threads == 1 and wall_s and cpu_s >= (1 - FELT) * wall_s)
    }
    return ran, spared, looks


def _shifts(connection: Connection, covered: Scope) -> list[Any]:
    query = (
        select(Shift.__table__, Host.id.label("host_id"), Host.name, Host.facts)
        .join(Worker, Worker.id == Shift.worker_id)
        .join(Host, Host.id == Worker.host_id)
        .where(Shift.batch_id.in_(covered.batches))
        .order_by(Shift.id)
    )
    return list(connection.execute(query))


def _stolen(shifts: list[Any]) -> tuple[str, list[Any]]:
    which = [shift for shift in shifts if (shift.steal or 0) > STEAL]
    most = _percent(max((shift.steal for shift in which), default=0))
    return f"other virtual machines took up to {most} of the processors' time", which


def _pressed(shifts: list[Any]) -> tuple[str, list[Any]]:
    which = [shift for shift in shifts if (shift.pressure or 0) > PRESSURE]
    most = _percent(max((shift.pressure for shift in which), default=0))
    return (
        f"solves had to share cores with other programs: something waited for one for up to {most} of the time",
        which,
    )


def _crowded(shifts: list[Any]) -> tuple[str, list[Any]]:
    def threads(shift: Any) -> int:
        return int(shift.facts.get("host_threads") or shift.facts["cores"])

    which = [s for s in shifts if s.oversubscribed and (s.load or 0) > 1.5 * threads(s)]
    worst = max(which, key=lambda shift: shift.load, default=None)
    told = f"up to {worst.load:.1f} programs shared {threads(worst)} cores" if worst else ""
    return f"the cores were oversubscribed: {told}", which


def _drifted(shifts: list[Any], best: dict[int, float]) -> Iterator[tuple[str, list[Any]]]:
    """Host by host: a fixed computation took longer than it does at the host's best."""
    hosts: defaultdict[int, list[Any]] = defaultdict(list)
    for shift in shifts:
        if shift.reference_s and shift.reference_s > best[shift.host_id] * DRIFT:
            hosts[shift.host_id].append(shift)
    for host_id, which in hosts.items():
        slowest = max(shift.reference_s for shift in which)
        yield f"{which[0].name} was up to {_percent(slowest / best[host_id] - 1)} slower than at its best", which


def _slowed(shifts: list[Any], ran: Ran, looks: dict[int, ProbeTimes], best: dict[int, float]) -> Iterator[Disturbance]:
    """Host by host: something that its kernel does not see was at work on a run's core, or too often around it."""
    hosts: defaultdict[int, list[Any]] = defaultdict(list)
    for shift in shifts:
        hosts[shift.host_id].append(shift)
    for host_id, here in hosts.items():
        shares = shares_around(here, looks)
        busy = frozenset(shift_id for shift_id, share in shares.items() if share > OFTEN)
        runs: Counter[str] = Counter()
        for shift in here:
            runs.update(ran[shift.id] if shift.id in busy else looks.get(shift.id, ProbeTimes()).slowed)
        if runs.total():
            what = (
                f"cores of {here[0].name} were at work for others too, such as another virtual machine that shares them"
            )
            most = f", for up to {_percent(max(0.01, *shares.values()))} of the time"
            yield Disturbance(what + most, runs, busy, ((host_id, SHARED * best[host_id]),))


def _sum(shifts: list[Any], ran: Ran) -> Counter[str]:
    runs: Counter[str] = Counter()
    for shift in shifts:
        runs.update(ran[shift.id])
    return runs


def _percent(share: float) -> str:
    return f"{share * 100:.0f} %"
