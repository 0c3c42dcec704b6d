"""The finished runs of a shift on their way into the database, or into the spool during an outage."""

from __future__ import annotations

import threading
import time
from collections.abc import Callable

import msgspec
from celery.utils.log import get_logger
from sqlalchemy import Connection, Engine, insert, select

from cagematch.models import Batch, BatchState, Shift
from cagematch.models.engine import OUTAGE_ERRORS, writing
from cagematch.problems.errors import first_line
from cagematch.workers.shards.conditions import Conditions
from cagematch.workers.shards.leases import ClaimedShard, finish, lease_s, renew
from cagematch.workers.shards.rows import RunRow, Sizes, store
from cagematch.workers.shards.spool import Spool, SpooledRuns, SpoolFile

RETRY_S = 0.5  # between two attempts to reach an unreachable database
log = get_logger(__name__)


class Outbox:
    """The finished runs of a claimed shard that are not stored yet.

    Attributes
    ----------
    position
        The position of the shard up to which all runs are stored.
    outage
        Whether the database was unreachable at the last attempt.
    """

    def __init__(self, engine: Engine, claimed: ClaimedShard, conditions: Conditions, spool: Spool) -> None:
        self.position = claimed.position
        self.outage = False
        self._engine, self._claimed, self._conditions, self._spool = engine, claimed, conditions, spool
        self._sizes = Sizes(engine)
        self._rows: list[RunRow] = []
        self._next = claimed.position  # the position after the last of the rows
        self._file: SpoolFile | None = None
        self._spooled = 0  # how many of the rows are in the spool
        self._full = False
        self._leased_until = time.monotonic() + lease_s()

    @property
    def accepts_runs(self) -> bool:
        """Whether runs may start: during an outage, while the lease lasts and the spool has room."""
        return not self.outage or (not self._full and time.monotonic() < self._leased_until)

    @property
    def complete(self) -> bool:
        """Whether the whole shard is stored."""
        return self.position == self._claimed.stop

    def add(self, row: RunRow) -> None:
        """Add a finished run."""
        self._rows.append(row)
        self._conditions.note(row.reference_s)

    def flush(self, position: int) -> bool:
        """Store the rows and renew the lease in one transaction; return False when the lease is lost.

        During an outage the rows go into the spool instead.
        """
        self._next = position
        if self.complete:
            return True
        if self.outage:
            self._keep()  # first: with a broken network, an attempt fails only after seconds
        try:
            return self._store()
        except OUTAGE_ERRORS as error:
            if not self.outage:
                text = "shard %s: the database is unreachable; runs are kept in %s until it is reachable: %s"
                log.warning(text, self._claimed.shard_id, self._spool.folder, first_line(error))
            self.outage = True
            self._keep()
            return True

    def settle(self, stopping: threading.Event) -> None:
        """Wait until an unreachable database has all rows; when the worker stops, leave them in the spool."""
        spooled = SpooledRuns(self._claimed, self._next, self._rows, self._conditions.current())
        try:
            while self.outage and not stopping.is_set():
                try:
                    settle(self._engine, spooled, self._conditions.store)
                except OUTAGE_ERRORS:
                    stopping.wait(RETRY_S)
                else:
                    self.position = self._next
                    self._emptied()
        finally:
            if self._file is not None:
                self._file.close()

    def _store(self) -> bool:
        started = time.monotonic()
        self._sizes.look_up(self._rows)
        with writing(self._engine) as connection:
            if not renew(connection, self._claimed, self._next):
                return False
            store(connection, self._rows, self._sizes, self._conditions.store(connection))
            if self._next == self._claimed.stop:
                finish(connection, self._claimed)
        self._leased_until = started + lease_s()
        self.position = self._next
        self._emptied()
        return True

    def _emptied(self) -> None:
        if self.outage:
            log.warning("shard %s: the database is reachable again and has stored the runs", self._claimed.shard_id)
        if self._file is not None:
            self._file.remove()
        self._file, self.outage, self._full, self._spooled = None, False, False, 0
        self._rows.clear()

    def _keep(self) -> None:
        """Write the rows that are not in the spool yet into it."""
        try:
            self._file = self._file or self._spool.create(self._claimed)
            new = self._rows[self._spooled :]
            fits = not new or self._file.keep(self._next, new, self._conditions.current())
        except OSError as error:
            fits = False
            log.warning("%s", error)
        if fits:
            self._spooled = len(self._rows)
        elif not self._full:
            self._full = True
            log.warning("the spool %s is full: no run starts until the database is reachable", self._spool.folder)


def settle(engine: Engine, spooled: SpooledRuns, store_shift: Callable[[Connection], int]) -> None:
    """Store runs that are late. ``store_shift`` writes the row of their shift and returns its number.

    With the lease still valid, the shard moves on. With the lease lost, a run is stored if it is missing: its
    measurement is valid, and the new holder of the shard skips it. A cancelled batch gets no runs.
    """
    lease = spooled.lease
    sizes = Sizes(engine)
    sizes.look_up(spooled.rows)
    batch = select(Batch.id).where(Batch.id == lease.batch_id, Batch.created_at == lease.created_at)
    with writing(engine) as connection:
        if connection.scalar(batch.where(Batch.state != BatchState.CANCELLED)) is None:
            return
        renewed = renew(connection, lease, spooled.position)
        store(connection, spooled.rows, sizes, store_shift(connection))
        if renewed and spooled.position == lease.stop:
            finish(connection, lease)


def shift_of(spooled: SpooledRuns) -> Callable[[Connection], int]:
    """The function that writes the row of a lost worker's shift."""
    began_at = min(row.finished_at - row.wall_s for row in spooled.rows)
    shift = {"batch_id": spooled.lease.batch_id, "worker_id": spooled.rows[0].worker_id, "began_at": began_at}
    row = insert(Shift).values(**shift, **msgspec.structs.asdict(spooled.conditions)).returning(Shift.id)
    return lambda connection: int(connection.execute(row).scalar_one())
