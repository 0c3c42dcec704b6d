"""What a report covers, in words: batches, limits, hosts, versions, and what to be careful about."""

from __future__ import annotations

from collections import defaultdict

from sqlalchemy import Connection, func, select

from models import Batch, Configuration, Host, Run, Worker
from scheduler.reports.runs import Scope


def coverage(connection: Connection, covered: Scope) -> list[str]:
    """One line each: the batches and their limits, the hosts, then every warning."""
    batches = connection.execute(select(Batch).where(Batch.id.in_(covered.batches)).order_by(Batch.id)).all()
    if not batches:
        return []
    last = batches[-1]
    which = ", ".join(f"{b.id}" + (f" ({b.name})" if b.name else "") for b in batches[-6:])
    more = "… " if len(batches) > 6 else ""
    told = "newest run of each puzzle and configuration" if covered.newest and len(batches) > 1 else "all runs"
    limits = f"{last.timeout_s:g} s and {last.memory_mib} MiB a run"
    plural = "batch" if len(batches) == 1 else "batches"
    lines = [f"{plural} {more}{which}: {told}; {limits}; seed {last.seed}"]
    return lines + _hosts(connection, covered) + _warnings(connection, covered)


def _hosts(connection: Connection, covered: Scope) -> list[str]:
    used = select(Run.worker_id).where(Run.batch_id.in_(covered.batches))
    there = select(Worker.host_id).where(Worker.id.in_(used))
    rows = connection.execute(select(Host.name, Host.facts).where(Host.id.in_(there)).order_by(Host.id))
    return [
        f"host {name}: {facts['processor']}, {facts['cores']} cores, {facts['memory_mib']:,} MiB"
        for name, facts in rows
    ]


def _warnings(connection: Connection, covered: Scope) -> list[str]:
    mine = Run.batch_id.in_(covered.batches)
    lines = []
    wanting = connection.execute(
        select(Configuration.text, Run.threads, func.max(Run.cores))
        .join(Configuration, Configuration.id == Run.configuration_id)
        .where(mine)
        .group_by(Configuration.text, Run.threads)
    )
    for text, threads, cores in wanting:
        had = len(cores.split(","))
        if threads > had:
            lines.append(f"note: {text} runs {threads} threads and had {had} cores, all of the host")
    versions: defaultdict[str, set[str]] = defaultdict(set)
    for told in connection.scalars(select(Worker.versions).where(Worker.id.in_(select(Run.worker_id).where(mine)))):
        for backend, version in told.items():
            versions[backend].add(version)
    for backend, found in versions.items():
        if len(found) > 1:
            lines.append(f"warning: workers had different versions of {backend}: {', '.join(sorted(found))}")
    unfinished = connection.scalar(
        select(func.count()).select_from(Batch).where(Batch.id.in_(covered.batches), Batch.state != "done")
    )
    if unfinished:
        lines.append("note: not every run of these batches is done; `scheduler status` tells")
    return lines
