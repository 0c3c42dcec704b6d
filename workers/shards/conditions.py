"""The state of the host during a shift, stored with it, so that reports can find disturbed runs."""

from __future__ import annotations

import msgspec
from sqlalchemy import Connection, insert, update

from cagematch.models import Shift
from cagematch.models.base import now
from cagematch.workers.machine.counters import KernelCounters


class HostConditions(msgspec.Struct, frozen=True):
    """The state of the host during a shift so far: columns of `models.Shift`.

    Attributes
    ----------
    seconds
        Wall time since the shift started.
    steal, pressure
        Shares of the time, from 0 to 1; see `workers.machine.counters`. None where the kernel does not report them.
    load
        The load average over the last minute.
    oversubscribed
        Whether more threads were ready to run than the host has hardware threads.
    reference_s
        The lower quartile of the core speed probes of the runs.
    """

    seconds: float
    steal: float | None
    pressure: float | None
    load: float | None
    oversubscribed: bool | None
    reference_s: float | None


class Conditions:
    """The row of one shift. Each flush rewrites it, so the shift of a lost worker has one as well."""

    def __init__(self, batch_id: int, worker_id: int, cores: list[int]) -> None:
        self._shift = {"batch_id": batch_id, "worker_id": worker_id}
        self._cores, self._references_s = cores, list[float]()
        self._began = KernelCounters.read(cores)
        self._id: int | None = None

    def note(self, reference_s: float | None) -> None:
        """Add the core speed probe of a run; None where it was not measured."""
        if reference_s is not None:
            self._references_s.append(reference_s)

    def store(self, connection: Connection) -> int:
        """Write the conditions so far; return the number of the shift's row."""
        values = msgspec.structs.asdict(self.current())
        # The transaction that created the row may have failed.
        exists = self._id and connection.execute(update(Shift).where(Shift.id == self._id).values(**values)).rowcount
        if self._id is None or not exists:
            row = insert(Shift).values(began_at=now() - values["seconds"], **self._shift, **values)
            self._id = int(connection.execute(row.returning(Shift.id)).scalar_one())
        return self._id

    def current(self) -> HostConditions:
        """The conditions from the start of the shift until now."""
        strain = KernelCounters.read(self._cores).since(self._began)
        ordered = sorted(self._references_s)
        return HostConditions(
            strain.seconds,
            strain.steal,
            strain.pressure,
            strain.load,
            strain.oversubscribed,
            ordered[len(ordered) // 4] if ordered else None,
        )
