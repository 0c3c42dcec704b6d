"""Disturbances of runs: contention, other tenants, and throttling.

The row of a shift describes its host during the shift (`models.Shift`), and the row of a run the speed of its core. A
value beyond a threshold puts times in doubt, but not answers. Contention counts only if it affected the solves of the
shift: a solve with one thread shows it as wall time without CPU time. A solve with more threads than cores causes
pressure and load itself. The report has a separate note for it.
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

STEAL = 0.02  # share of the cores' time that the hypervisor gave to other virtual machines
PRESSURE = 0.25  # share of the shift in which tasks waited for a core; a worker on two cores causes some of it
FELT = 0.10  # share of the solves' wall time without a core
DRIFT = 1.10  # ratio of a shift's probes (lower quartile) to the host's best
NAMED = 4  # configurations that a line names
RunsByShift = dict[int, Counter[str]]  # the number of runs by shift and configuration


@dataclass(frozen=True, slots=True)
class Disturbance:
    """A cause that disturbed runs.

    Parameters
    ----------
    what
        The cause, with the value measured.
    runs
        The number of disturbed runs by configuration.
    shifts
        The shifts whose runs are all disturbed.
    bound
        Hosts with the longest time, in seconds, of an undisturbed probe: slower runs are disturbed.
    """

    what: str
    runs: Counter[str]
    shifts: frozenset[int] = frozenset()
    bound: tuple[tuple[int, float], ...] = ()

    def __str__(self) -> str:
        count, names = self.runs.total(), sorted(self.runs)
        named = ", ".join(names[:NAMED]) + (f" and {len(names) - NAMED} more" if len(names) > NAMED else "")
        return f"warning: {self.what}, {count:,} run{'s' * (count != 1)} affected ({named})"


def disturbances(connection: Connection, covered: Scope) -> list[Disturbance]:
    """Return the disturbances of the runs that a scope covers."""
    every = _shifts(connection, covered)
    best = {host_id: best_of(connection, host_id) for host_id in {shift.host_id for shift in every}}
    bounds = {host_id: SHARED * best_s for host_id, best_s in best.items()}
    runs, exempt, probes = _runs(connection, covered, bounds)
    shifts = [shift for shift in every if shift.id in runs]
    shared = [shift for shift in shifts if shift.id not in exempt]
    causes = (_steal(shifts), _contention(shared), _oversubscription(shared), *_drift(shifts, best))
    found = [Disturbance(what, _sum(of, runs), frozenset(shift.id for shift in of)) for what, of in causes if of]
    return found + list(_other_tenants(shifts, runs, probes, best))


def undisturbed(connection: Connection, covered: Scope) -> Scope:
    """Return the scope without disturbed runs; the latest runs are then the latest undisturbed ones."""
    every = replace(covered, newest=False)
    found = disturbances(connection, every)
    bounds = tuple(bound for one in found for bound in one.bound)
    return replace(covered, without=frozenset().union(*(one.shifts for one in found)), bounds=bounds)


def _runs(
    connection: Connection, covered: Scope, bounds: dict[int, float]
) -> tuple[RunsByShift, set[int], dict[int, ProbeTimes]]:
    """Return the runs by shift, the shifts exempt from contention, and the probes by shift.

    A shift is exempt if its solves had more threads than cores, or had their core all the time. ``bounds``: the
    longest time of an undisturbed probe by host, in seconds.
    """
    was_slow = case((Run.reference_s.is_(None), None), (slowed(Run, bounds.items()), 1), else_=0)
    columns = (Run.shift_id, StoredConfiguration.text, Run.threads, Run.cores, was_slow)
    measured = Run.cpu_s.is_not(None)
    sums = (func.count(), func.sum(Run.wall_s), func.sum(Run.cpu_s), func.sum(Run.wall_s).filter(measured))
    query = over(select(*columns, *sums), covered).join(
        StoredConfiguration, StoredConfiguration.id == Run.configuration_id
    )
    rows = connection.execute(query.where(Run.shift_id.is_not(None)).group_by(*columns))
    runs: RunsByShift = defaultdict(Counter)
    probes: defaultdict[int, ProbeTimes] = defaultdict(ProbeTimes)
    used: defaultdict[tuple[int, int, str], list[float]] = defaultdict(lambda: [0.0, 0.0])
    shift_id: Any  # the query excludes NULL
    for shift_id, text, threads, cores, slow, count, wall_s, cpu_s, measured_s in rows:
        runs[shift_id][text] += count
        if slow is not None:
            probes[shift_id].add(text, count, wall_s, slow=bool(slow))
        had = used[shift_id, threads, cores]
        had[0], had[1] = had[0] + (cpu_s or 0.0), had[1] + (measured_s or 0.0)
    exempt = {
        shift_id
        for (shift_id, threads, cores), (cpu_s, wall_s) in used.items()
        if threads > cores.count(",") + 1 or (threads == 1 and wall_s and cpu_s >= (1 - FELT) * wall_s)
    }
    return runs, exempt, probes


def _shifts(connection: Connection, covered: Scope) -> list[Any]:
    query = (
        select(Shift.__table__, Host.id.label("host_id"), Host.name, Host.facts)
        .join(Worker, Worker.id == Shift.worker_id)
        .join(Host, Host.id == Worker.host_id)
        .where(Shift.batch_id.in_(covered.batches))
        .order_by(Shift.id)
    )
    return list(connection.execute(query))


def _steal(shifts: list[Any]) -> tuple[str, list[Any]]:
    which = [shift for shift in shifts if (shift.steal or 0) > STEAL]
    most = _percent(max((shift.steal for shift in which), default=0))
    return f"CPU steal: other virtual machines took up to {most} of the CPU time", which


def _contention(shifts: list[Any]) -> tuple[str, list[Any]]:
    which = [shift for shift in shifts if (shift.pressure or 0) > PRESSURE]
    most = _percent(max((shift.pressure for shift in which), default=0))
    return f"CPU contention: up to {most} of the time", which


def _oversubscription(shifts: list[Any]) -> tuple[str, list[Any]]:
    def threads(shift: Any) -> int:
        return int(shift.facts.get("host_threads") or shift.facts["cores"])

    which = [s for s in shifts if s.oversubscribed and (s.load or 0) > 1.5 * threads(s)]
    worst = max(which, key=lambda shift: shift.load, default=None)
    load = f"load up to {worst.load:.1f} on {threads(worst)} cores" if worst else ""
    return f"oversubscribed cores: {load}", which


def _drift(shifts: list[Any], best: dict[int, float]) -> Iterator[tuple[str, list[Any]]]:
    """Yield the hosts whose probes took longer than the host's best."""
    hosts: defaultdict[int, list[Any]] = defaultdict(list)
    for shift in shifts:
        if shift.reference_s and shift.reference_s > best[shift.host_id] * DRIFT:
            hosts[shift.host_id].append(shift)
    for host_id, which in hosts.items():
        slowest = max(shift.reference_s for shift in which)
        yield f"{which[0].name} was up to {_percent(slowest / best[host_id] - 1)} slower than at its best", which


def _other_tenants(
    shifts: list[Any], all_runs: RunsByShift, probes: dict[int, ProbeTimes], best: dict[int, float]
) -> Iterator[Disturbance]:
    """Yield the hosts on which another tenant used the core of a run, unseen by the kernel, or cores around it."""
    hosts: defaultdict[int, list[Any]] = defaultdict(list)
    for shift in shifts:
        hosts[shift.host_id].append(shift)
    for host_id, here in hosts.items():
        shares = shares_around(here, probes)
        busy = frozenset(shift_id for shift_id, share in shares.items() if share > OFTEN)
        runs: Counter[str] = Counter()
        for shift in here:
            runs.update(all_runs[shift.id] if shift.id in busy else probes.get(shift.id, ProbeTimes()).slowed)
        if runs.total():
            most = _percent(max(0.01, *shares.values()))
            what = f"other tenants used the cores of {here[0].name}: up to {most} of the time"
            yield Disturbance(what, runs, busy, ((host_id, SHARED * best[host_id]),))


def _sum(shifts: list[Any], runs: RunsByShift) -> Counter[str]:
    total: Counter[str] = Counter()
    for shift in shifts:
        total.update(runs[shift.id])
    return total


def _percent(share: float) -> str:
    return f"{share * 100:.0f} %"
