"""The coverage of a report as text: batches, limits, hosts, versions and warnings."""

from __future__ import annotations

from collections import defaultdict
from collections.abc import Sequence
from dataclasses import replace
from typing import Any

from sqlalchemy import Connection, exists, func, select

from cagematch.models import Batch, BatchState, Host, Run, StoredConfiguration, Worker
from cagematch.problems.outcome import Task
from cagematch.scheduler.reports.disturbances import disturbances
from cagematch.scheduler.reports.scope import Scope, covered_batches, over

SHOWN = 6  # batches that a line names
MORE = 1.05  # the largest ratio of memory sizes that counts as equal: kernels reserve different amounts


def coverage(connection: Connection, covered: Scope) -> list[str]:
    """Describe what a report covers.

    Returns
    -------
    list of str
        The batches with their limits, the hosts, notes on excluded batches, then warnings. Empty without a batch.
    """
    ids = covered_batches(connection, covered) or covered_batches(connection, covered.whole())
    inside = replace(covered, batches=tuple(ids))
    batches = connection.execute(select(Batch).where(Batch.id.in_(inside.batches)).order_by(Batch.id)).all()
    if not batches:
        return []
    which = ", ".join(f"{b.id}" + (f" ({b.name})" if b.name else "") for b in batches[-SHOWN:])
    more = "… " if len(batches) > SHOWN else ""
    plural = "batch" if len(batches) == 1 else "batches"
    which_runs = "all runs"
    if covered.newest and len(covered.batches) > 1:
        which_runs = "the latest run of each puzzle and configuration"
    lines = [f"{plural} {more}{which}: {which_runs}; {'; '.join(_limits(batches))}"]
    lines += _hosts(connection, inside) + excluded_batches(connection, covered) + _cores(connection, inside)
    lines += _disturbed(connection, covered if covered.excludes_runs else inside) + _versions(connection, inside)
    return lines + _unfinished(batches)


def excluded_batches(connection: Connection, covered: Scope) -> list[str]:
    """Return a note per other task and limits, with the batches that the latest runs exclude."""
    if not covered.newest:
        return []
    has_runs = exists().where(Run.batch_id == Batch.id)
    tasks = {_task(b) for b in connection.execute(select(Batch).where(Batch.id.in_(covered.batches)))}
    found: defaultdict[str, list[int]] = defaultdict(list)
    others = select(Batch).where(Batch.id.not_in(covered.batches), has_runs).order_by(Batch.id)
    for batch in connection.execute(others):
        limits = f"{batch.timeout_s:g} s, {_memory(batch.memory_mib)}"
        reason = f"different limits ({limits})" if _task(batch) in tasks else f"different task ({_task(batch)})"
        found[reason].append(batch.id)
    return [_note(batches, reason) for reason, batches in found.items()]


def _note(batches: list[int], reason: str) -> str:
    one = len(batches) == 1
    named = ", ".join(map(str, batches[-SHOWN:]))
    which = f"batch {named}" if one else f"batches {'… ' if len(batches) > SHOWN else ''}{named}"
    command = f"scheduler report {' '.join(map(str, batches[-SHOWN:]))}"
    return f"note: {which} excluded: {reason}; report {'it' if one else 'them'} with `{command}`"


def _limits(batches: Sequence[Any]) -> list[str]:
    """Return the tasks, limits and seeds. Different tasks or limits are marked as a warning."""
    tasks = {_task(b): None for b in batches}
    limits = {f"{b.timeout_s:g} s and {_memory(b.memory_mib)} per run": None for b in batches}
    seeds = {str(b.seed): None for b in batches}
    differ = "LIMITS DIFFER: " if len(limits) > 1 else ""
    found = [differ + " or ".join(limits), f"seed{'s' if len(seeds) > 1 else ''} {', '.join(seeds)}"]
    if tasks == {Task.SOLVE.value: None}:  # the default
        return found
    return [("TASKS DIFFER: " if len(tasks) > 1 else "task ") + " or ".join(tasks), *found]


def _task(batch: Any) -> str:
    """Return the task with its bound: ``unique``, ``count to 100,000``."""
    return f"{batch.task} to {batch.bound:,}" if batch.bound is not None else str(batch.task)


def _memory(mib: int) -> str:
    return f"{mib // 1024} GiB" if mib % 1024 == 0 else f"{mib} MiB"


def _hosts(connection: Connection, covered: Scope) -> list[str]:
    workers = select(Run.worker_id).where(Run.batch_id.in_(covered.batches))
    host_ids = select(Worker.host_id).where(Worker.id.in_(workers))
    rows = connection.execute(select(Host).where(Host.id.in_(host_ids)).order_by(Host.id)).all()
    # A kernel update gives a host another row with the same text.
    return [*dict.fromkeys(_host(row.name, row.facts) for row in rows), *_different(connection, covered, rows)]


def _host(name: str, facts: dict[str, Any]) -> str:
    text = f"host {name}: {facts['processor']}, {facts['cores']} cores, {facts['memory_mib']:,} MiB"
    method = {"watch": "sampling every 10 ms"}.get(facts.get("memory_limit", ""), facts.get("memory_limit"))
    return text + (f"; memory limited by {method}" if method else "")


def _different(connection: Connection, covered: Scope, hosts: Sequence[Any]) -> list[str]:
    """Warn of hosts that differ, with the configurations that ran on each of them."""
    kinds = {host.id: _kind(host.facts) for host in hosts}
    memories = [host.facts["memory_mib"] for host in hosts]
    if memories and max(memories) > MORE * min(memories):
        kinds = {host.id: (*kinds[host.id], f"{host.facts['memory_mib']:,} MiB") for host in hosts}
    if all(kind == kinds[hosts[0].id] for kind in kinds.values()):
        return []
    used = select(Run.configuration_id, Run.worker_id).where(Run.batch_id.in_(covered.batches)).distinct().subquery()
    rows = connection.execute(
        select(StoredConfiguration.text, Worker.host_id)
        .join(used, used.c.configuration_id == StoredConfiguration.id)
        .join(Worker, Worker.id == used.c.worker_id)
    )
    called = {
        host.id: _called(host.name, kinds[host.id], [kinds[other.id] for other in hosts if other.name == host.name])
        for host in hosts
    }
    used_hosts: defaultdict[str, set[str]] = defaultdict(set)
    for text, host_id in rows:
        used_hosts[text].add(called[host_id])
    where = "; ".join(f"{text} on {', '.join(sorted(names))}" for text, names in sorted(used_hosts.items()))
    return [f"warning: the hosts differ, so times are not comparable: {where}"]


def _kind(facts: dict[str, Any]) -> tuple[str, ...]:
    """Return the facts, except memory, that comparable hosts share; an unknown fact is an empty text.

    The cores for solves are not among them, because workers on one host may use different cores.
    """
    virtual = facts.get("hypervisor")
    return (
        str(facts.get("processor", "")),
        f"{facts.get('host_cores') or facts['cores']} cores",
        *(f"{name} {facts[name]}" if name in facts else "" for name in ("governor", "turbo")),
        "" if virtual is None else "a virtual machine" if virtual else "no virtual machine",
    )


def _called(name: str, kind: tuple[str, ...], namesakes: list[tuple[str, ...]]) -> str:
    """Return the name of a host, with the facts that distinguish it from namesakes: ``vm (4 cores)``."""
    facts = [values[0] for values in zip(kind, *namesakes, strict=True) if values[0] and len(set(values)) > 1]
    return f"{name} ({', '.join(facts)})" if facts else name


def _unfinished(batches: Sequence[Any]) -> list[str]:
    unfinished = any(batch.state is not BatchState.DONE for batch in batches)
    return ["note: these batches have unfinished runs; see `scheduler status`"] if unfinished else []


def _disturbed(connection: Connection, covered: Scope) -> list[str]:
    """Describe the disturbances, or the runs excluded because of them."""
    if covered.excludes_runs:
        return [excluded_runs(connection, covered)]
    found = disturbances(connection, covered)
    hint = ["note: exclude these runs with --exclude-disturbed"] if found else []
    return [*map(str, found), *hint]


def excluded_runs(connection: Connection, covered: Scope) -> str:
    """Return a note with the number of disturbed runs, and the configurations without any other run."""
    every = replace(covered, newest=False)
    counted = select(Run.configuration_id, func.count()).group_by(Run.configuration_id)
    runs, left = (dict(map(tuple, connection.execute(over(counted, these)))) for these in (every.whole(), every))
    excluded = sum(runs.values()) - sum(left.values())
    texts = select(StoredConfiguration.text).where(StoredConfiguration.id.in_(runs.keys() - left.keys()))
    empty = ", ".join(sorted(connection.scalars(texts)))
    note = f"note: {excluded:,} disturbed run{'s' * (excluded != 1)} excluded"
    return note + (f"; no runs remain for {empty}" if empty else "")


def _cores(connection: Connection, covered: Scope) -> list[str]:
    """Describe configurations that ran more threads than they had cores."""
    rows = connection.execute(
        select(StoredConfiguration.text, Run.threads, Run.cores)
        .join(StoredConfiguration, StoredConfiguration.id == Run.configuration_id)
        .where(Run.batch_id.in_(covered.batches))
        .distinct()
    )
    had = sorted({(text, threads, cores.count(",") + 1) for text, threads, cores in rows})
    return [
        f"note: {text} ran {threads} threads on {cores} core{'s' * (cores > 1)}, all that the host has"
        for text, threads, cores in had
        if threads > cores
    ]


def _versions(connection: Connection, covered: Scope) -> list[str]:
    """Warn of different versions of a backend, or of Cagematch itself, on different workers."""
    used = (
        select(StoredConfiguration.backend, Run.worker_id)
        .join(StoredConfiguration, StoredConfiguration.id == Run.configuration_id)
        .where(Run.batch_id.in_(covered.batches))
        .distinct()
        .subquery()
    )
    rows = connection.execute(
        select(used.c.backend, Worker.program, Worker.versions).join(used, used.c.worker_id == Worker.id)
    )
    found: defaultdict[str, set[str]] = defaultdict(set)
    for backend, program, versions in rows:
        found["cagematch"].add(program)
        found[backend].add(versions.get(backend, "unknown"))
    return [
        f"warning: workers had different versions of {name}: {', '.join(sorted(versions))}"
        for name, versions in found.items()
        if len(versions) > 1
    ]
