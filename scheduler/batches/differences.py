"""Comparison of a batch with its rerun: machines, versions and run times."""

from __future__ import annotations

from collections.abc import Iterator
from typing import Any

from sqlalchemy import Connection, Engine, func, select

from cagematch.models import Batch, Host, Run, Shift, StoredConfiguration, Worker
from cagematch.models.engine import reading
from cagematch.scheduler.reports.shared_cores import best_where

FACTS = {
    "processor": "processor",
    "cores": "cores",
    "memory_mib": "MiB of memory",
    "kernel": "kernel",
    "governor": "frequency governor",
    "turbo": "turbo",
    "hypervisor": "virtual machine",
    "memory_limit": "memory limited by",
}
DRIFT = 1.1  # ratio of two core speeds; a smaller one is noise


def compare(engine: Engine, earlier: int, later: int) -> list[str]:
    """Describe how a later batch differs from an earlier one.

    Returns
    -------
    list of str
        One line per difference. A line that puts the comparison in doubt starts with ``warning``.
    """
    with reading(engine) as connection:
        for batch_id in (earlier, later):
            if connection.scalar(select(Run.id).where(Run.batch_id == batch_id).limit(1)) is None:
                return [f"batch {batch_id} has no runs to compare"]
        hosts = list(_hosts(connection, earlier, later))
        found = [*_versions(connection, earlier, later), *hosts]
        if not found:
            found = [f"same machine, versions and limits as batch {earlier}"]
        speeds = _speeds(connection, earlier, later, same=not hosts)
        return [*found, *speeds, *_times(connection, earlier, later)]


def _versions(connection: Connection, earlier: int, later: int) -> Iterator[str]:
    """Compare the versions of the program, of Python, and of every backend that ran in both batches."""
    query = select(Batch.versions).where(Batch.id.in_((earlier, later))).order_by(Batch.id)
    before, after = (dict(versions) for versions in connection.scalars(query))
    for batch_id, versions in ((earlier, before), (later, after)):
        versions.update(_backends(connection, batch_id))
    for name in sorted(before.keys() & after.keys()):
        if before[name] != after[name]:
            yield f"warning: the version of {name} changed from {before[name]} to {after[name]}"


def _backends(connection: Connection, batch_id: int) -> dict[str, str]:
    """Return the version of each backend in a batch; several versions of one if the workers differed."""
    pairs = select(Run.configuration_id, Run.worker_id).where(Run.batch_id == batch_id).distinct().subquery()
    query = (
        select(StoredConfiguration.backend, Worker.versions)
        .join(pairs, pairs.c.configuration_id == StoredConfiguration.id)
        .join(Worker, Worker.id == pairs.c.worker_id)
    )
    found: dict[str, set[str]] = {}
    for backend, versions in connection.execute(query):
        found.setdefault(backend, set()).add(versions.get(backend, "?"))
    return {backend: " and ".join(sorted(versions)) for backend, versions in found.items()}


def _hosts(connection: Connection, earlier: int, later: int) -> Iterator[str]:
    before, after = (_facts(connection, batch_id) for batch_id in (earlier, later))
    for name, label in FACTS.items():
        if before[name] and after[name] and before[name] != after[name]:
            yield f"warning: {label} changed from {_list(before[name])} to {_list(after[name])}"
    if before["name"] != after["name"]:
        yield f"warning: the host changed from {_list(before['name'])} to {_list(after['name'])}"


def _speeds(connection: Connection, earlier: int, later: int, *, same: bool) -> Iterator[str]:
    """Compare the best core speeds of both batches. ``same``: the hosts have the same facts."""
    before, after = (_reference_s(connection, batch_id) for batch_id in (earlier, later))
    slow, fast = max(before, after), min(before, after)
    if fast and slow > fast * DRIFT:
        which = "faster" if after == fast else "slower"
        why = "another process or tenant may have used the cores" if same else "the machines differ"
        yield f"warning: the core speed probe is {(slow / fast - 1) * 100:.0f} % {which} in batch {later}: {why}"


def _reference_s(connection: Connection, batch_id: int) -> float:
    """Return the best time of the probes next to the runs, or else of those at the start of the workers."""
    found = best_where(connection, Shift.batch_id == batch_id)
    if found is not None:
        return found
    workers = select(Run.worker_id).where(Run.batch_id == batch_id).distinct()
    return connection.scalar(select(func.min(Worker.reference_s)).where(Worker.id.in_(workers))) or 0.0


def _facts(connection: Connection, batch_id: int) -> dict[str, set[Any]]:
    """Return the facts of the hosts of a batch, each with all its values."""
    workers = select(Run.worker_id).where(Run.batch_id == batch_id).distinct()
    query = select(Host.name, Host.facts).join(Worker, Worker.host_id == Host.id)
    found: dict[str, set[Any]] = {name: set() for name in ("name", *FACTS)}
    for name, facts in connection.execute(query.where(Worker.id.in_(workers))):
        found["name"].add(name)
        for fact in FACTS.keys() & facts.keys():
            found[fact].add(facts[fact])
    return found


def _list(values: set[Any]) -> str:
    return ", ".join(sorted(map(str, values)))


def _times(connection: Connection, earlier: int, later: int) -> Iterator[str]:
    """Compare the mean wall times of each configuration."""
    means: dict[int, dict[str, float]] = {earlier: {}, later: {}}
    query = (
        select(Run.batch_id, StoredConfiguration.text, func.avg(Run.wall_s))
        .join(StoredConfiguration, StoredConfiguration.id == Run.configuration_id)
        .where(Run.batch_id.in_((earlier, later)))
        .group_by(Run.batch_id, StoredConfiguration.text)
    )
    for batch_id, text, mean in connection.execute(query):
        means[batch_id][text] = mean
    for text in sorted(means[earlier].keys() & means[later].keys()):
        if means[earlier][text]:
            yield f"{text}: {means[later][text] / means[earlier][text]:.2f}× the mean wall time of batch {earlier}"
