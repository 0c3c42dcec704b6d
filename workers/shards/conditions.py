"""What a host was like while its runs were measured: kept with each shift, so that a report can tell which to doubt."""

from __future__ import annotations

from dataclasses import asdict
from typing import Any

from sqlalchemy import Connection, insert, update

from cagematch.models import Shift
from cagematch.models.base import now
from cagematch.workers.machine.counters import KernelCounters

KEPT = ("seconds", "steal", "pressure", "load", "oversubscribed")


class Conditions:
    """One shift's row. It is written anew with each flush, so that a shift whose worker is lost has one, too."""

    def __init__(self, batch_id: int, worker_id: int, cores: list[int]) -> None:
        self._same = {"batch_id": batch_id, "worker_id": worker_id}
        self._cores, self._references_s = cores, list[float]()
        self._began = KernelCounters.read(cores)
        self._id: int | None = None

    def note(self, reference_s: float | None) -> None:
        """Take what the reference took beside one of the shift's runs, where it was measured."""
        if reference_s is not None:
            self._references_s.append(reference_s)

    def store(self, connection: Connection) -> int:
        """Write what has been seen so far; return the row's number."""
        values = self.seen()
        # The transaction that made it may have failed.
        there = self._id and connection.execute(update(Shift).where(Shift.id == self._id).values(**values)).rowcount
        if self._id is None or not there:
            made = insert(Shift).values(began_at=now() - values["seconds"], **self._same, **values).returning(Shift.id)
            self._id = int(connection.execute(made).scalar_one())
        return self._id

    def seen(self) -> dict[str, Any]:
        """What the host was like up to now."""
        strain = asdict(KernelCounters.read(self._cores).since(self._began))
        ordered = sorted(self._references_s)
        return {name: strain[name] for name in KEPT} | {"reference_s": ordered[len(ordered) // 4] if ordered else None}
