"""What a report covers, in words: batches, limits, hosts, versions, and what to be careful about."""

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

SHOWN = 6  # batches named in full
MORE = 1.05  # memory: another kernel takes a little more of it or less


def coverage(connection: Connection, covered: Scope) -> list[str]:
    """One line each: the batches and their limits, the hosts, then every warning."""
    ran = covered_batches(connection, covered) or covered_batches(connection, covered.whole())
    inside = replace(covered, batches=tuple(ran))
    batches = connection.execute(select(Batch).where(Batch.id.in_(inside.batches)).order_by(Batch.id)).all()
    if not batches:
        return []
    which = ", ".join(f"{b.id}" + (f" ({b.name})" if b.name else "") for b in batches[-SHOWN:])
    more = "… " if len(batches) > SHOWN else ""
    plural = "batch" if len(batches) == 1 else "batches"
    told = "newest run of each puzzle and configuration" if covered.newest and len(covered.batches) > 1 else "all runs"
    lines = [f"{plural} {more}{which}: {told}; {'; '.join(_limits(batches))}"]
    warnings = _cores(connection, inside) + _disturbed(connection, covered if covered.chosen else inside)
    lines += _hosts(connection, inside) + left_out(connection, covered) + warnings + _versions(connection, inside)
    return lines + _unfinished(batches)


def left_out(connection: Connection, covered: Scope) -> list[str]:
    """A note for each other task and limits: nobody is to miss a batch that is not compared without a word."""
    if not covered.newest:
        return []
    ran = exists().where(Run.batch_id == Batch.id)
    tasks = {_task(b) for b in connection.execute(select(Batch).where(Batch.id.in_(covered.batches)))}
    found: defaultdict[str, list[int]] = defaultdict(list)
    others = select(Batch).where(Batch.id.not_in(covered.batches), ran).order_by(Batch.id)
    for batch in connection.execute(others):
        limits = f"{batch.timeout_s:g} s, {_memory(batch.memory_mib)}"
        found[f"other limits ({limits})" if _task(batch) in tasks else f"another task ({_task(batch)})"].append(
            batch.id
        )
    return [_note(batches, why) for why, batches in found.items()]


def _note(batches: list[int], why: str) -> str:
    one = len(batches) == 1
    named = ", ".join(map(str, batches[-SHOWN:]))
    which = f"batch {named}" if one else f"batches {'… ' if len(batches) > SHOWN else ''}{named}"
    command = f"scheduler report {' '.join(map(str, batches[-SHOWN:]))}"
    return f"note: {which} left out: {why}; `{command}` shows {'it' if one else 'them'}"


def _limits(batches: Sequence[Any]) -> list[str]:
    """What the batches have in common is said once; tasks and limits that differ are a warning."""
    tasks = {_task(b): None for b in batches}
    limits = {f"{b.timeout_s:g} s and {_memory(b.memory_mib)} a run": None for b in batches}
    seeds = {str(b.seed): None for b in batches}
    differ = "LIMITS DIFFER: " if len(limits) > 1 else ""
    told = [differ + " or ".join(limits), f"seed{'s' if len(seeds) > 1 else ''} {', '.join(seeds)}"]
    if tasks == {Task.SOLVE.value: None}:  # what everybody takes for granted
        return told
    return [("TASKS DIFFER: " if len(tasks) > 1 else "task ") + " or ".join(tasks), *told]


def _task(batch: Any) -> str:
    """``unique``, ``count to 100,000``."""
    return f"{batch.task} to {batch.bound:,}" if batch.bound is not None else str(batch.task)


def _memory(mib: int) -> str:
    return f"{mib // 1024} GiB" if mib % 1024 == 0 else f"{mib} MiB"


def _hosts(connection: Connection, covered: Scope) -> list[str]:
    used = select(Run.worker_id).where(Run.batch_id.in_(covered.batches))
    there = select(Worker.host_id).where(Worker.id.in_(used))
    rows = connection.execute(select(Host).where(Host.id.in_(there)).order_by(Host.id)).all()
    # A host that came back with another kernel is another row, and reads the same.
    return [*dict.fromkeys(_host(row.name, row.facts) for row in rows), *_unlike(connection, covered, rows)]


def _host(name: str, facts: dict[str, Any]) -> str:
    told = f"host {name}: {facts['processor']}, {facts['cores']} cores, {facts['memory_mib']:,} MiB"
    way = {"watch": "looks every 10 ms"}.get(facts.get("memory_limit", ""), facts.get("memory_limit"))
    return told + (f"; memory limited by {way}" if way else "")


def _unlike(connection: Connection, covered: Scope, hosts: Sequence[Any]) -> list[str]:
    """Hosts that are not alike, and the configurations that ran on more than one of them, or on another than others."""
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
    ran: defaultdict[str, set[str]] = defaultdict(set)
    for text, host_id in rows:
        ran[text].add(called[host_id])
    where = "; ".join(f"{text} on {', '.join(sorted(names))}" for text, names in sorted(ran.items()))
    return [f"warning: hosts differ, so that times of one are no measure of another: {where}"]


def _kind(facts: dict[str, Any]) -> tuple[str, ...]:
    """What hosts should have in common besides memory, in words, empty where it is not known.

    Not which cores are for solves: workers of one host may have several.
    """
    virtual = facts.get("hypervisor")
    return (
        str(facts.get("processor", "")),
        f"{facts.get('host_cores') or facts['cores']} cores",
        *(f"{name} {facts[name]}" if name in facts else "" for name in ("governor", "turbo")),
        "" if virtual is None else "a virtual machine" if virtual else "no virtual machine",
    )


def _called(name: str, kind: tuple[str, ...], namesakes: list[tuple[str, ...]]) -> str:
    """A host's name; where another has the same, with what is not the same: ``vm (4 cores)``."""
    told = [words[0] for words in zip(kind, *namesakes, strict=True) if words[0] and len(set(words)) > 1]
    return f"{name} ({', '.join(told)})" if told else name


def _unfinished(batches: Sequence[Any]) -> list[str]:
    unfinished = any(batch.state is not BatchState.DONE for batch in batches)
    return ["note: not every run of these batches is done; `scheduler status` tells"] if unfinished else []


def _disturbed(connection: Connection, covered: Scope) -> list[str]:
    """What disturbed runs, and how to leave these out; or that they are."""
    if covered.chosen:
        return [disturbed_left_out(connection, covered)]
    found = disturbances(connection, covered)
    hint = ["note: --exclude-disturbed leaves these runs out"] if found else []
    return [*map(str, found), *hint]


def disturbed_left_out(connection: Connection, covered: Scope) -> str:
    """A note of how many runs of the batches something disturbed, and of which configurations it was every one."""
    every = replace(covered, newest=False)
    counted = select(Run.configuration_id, func.count()).group_by(Run.configuration_id)
    runs, left = (dict(map(tuple, connection.execute(over(counted, these)))) for these in (every.whole(), every))
    out = sum(runs.values()) - sum(left.values())
    were = "1 run that something disturbed is" if out == 1 else f"{out:,} runs that something disturbed are"
    texts = select(StoredConfiguration.text).where(StoredConfiguration.id.in_(runs.keys() - left.keys()))
    none = ", ".join(sorted(connection.scalars(texts)))
    return f"note: {were} left out" + (f"; no run is left of {none}" if none else "")


def _cores(connection: Connection, covered: Scope) -> list[str]:
    """Configurations that had fewer cores than they run threads."""
    rows = connection.execute(
        select(StoredConfiguration.text, Run.threads, Run.cores)
        .join(StoredConfiguration, StoredConfiguration.id == Run.configuration_id)
        .where(Run.batch_id.in_(covered.batches))
        .distinct()
    )
    had = sorted({(text, threads, cores.count(",") + 1) for text, threads, cores in rows})
    return [
        f"note: {text} runs {threads} threads and had {cores} core{'s' * (cores > 1)}, all of the host"
        for text, threads, cores in had
        if threads > cores
    ]


def _versions(connection: Connection, covered: Scope) -> list[str]:
    """Backends, and Cagematch itself, of which the workers had different versions."""
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
        f"warning: workers had different versions of {name}: {', '.join(sorted(told))}"
        for name, told in found.items()
        if len(told) > 1
    ]
