"""A shift's results on their way into the database, and into the spool while that is away."""

from __future__ import annotations

import threading
import time
from collections.abc import Callable

from celery.utils.log import get_logger
from sqlalchemy import Connection, Engine, insert, select

from cagematch.models import Batch, BatchState, Shift
from cagematch.models.engine import OUTAGE_ERRORS, writing
from cagematch.problems.errors import first_line
from cagematch.workers.shards.conditions import Conditions
from cagematch.workers.shards.leases import ClaimedShard, finish, lease_s, renew
from cagematch.workers.shards.rows import RunRow, Sizes, store
from cagematch.workers.shards.spool import Late, Spool, SpoolFile

AGAIN_S = 0.5  # between two tries to reach a database that is away
log = get_logger(__name__)


class Outbox:
    """The finished runs of a claimed shard that are not stored yet."""

    def __init__(self, engine: Engine, claimed: ClaimedShard, conditions: Conditions, spool: Spool) -> None:
        self.position = claimed.position
        self._engine, self._claimed, self._conditions, self._spool = engine, claimed, conditions, spool
        self._sizes = Sizes(engine)
        self._rows: list[RunRow] = []
        self._next = claimed.position  # the position that the rows lead to
        self.away = False  # the database, when it was last asked
        self._file: SpoolFile | None = None
        self._kept = 0  # of the rows, those in the spool
        self._full = False
        self._ours_until = time.monotonic() + lease_s()

    @property
    def takes_more(self) -> bool:
        """Whether runs may be begun: while the database is away, as long as the lease lasts and the spool has room."""
        return not self.away or (not self._full and time.monotonic() < self._ours_until)

    @property
    def stored(self) -> bool:
        """Whether the whole shard is in the database."""
        return self.position == self._claimed.stop

    def add(self, row: RunRow) -> None:
        """Take a finished run."""
        self._rows.append(row)
        self._conditions.note(row["reference_s"])

    def flush(self, position: int) -> bool:
        """Store what has come and renew the lease, in one transaction; False when the lease is lost.

        While the database is away, what has come is kept in the spool.
        """
        self._next = position
        if self.stored:
            return True
        if self.away:
            self._keep()  # first: a database whose network is cut says so only after seconds
        try:
            return self._store()
        except OUTAGE_ERRORS as error:
            if not self.away:
                told = "shard %s: the database is away, runs go to %s: %s"
                log.warning(told, self._claimed.shard_id, self._spool.folder, first_line(error))
            self.away = True
            self._keep()
            return True

    def settle(self, stopping: threading.Event) -> None:
        """Wait until a database that is away has everything; when the worker is to stop, leave that in the spool."""
        late = Late(self._claimed, self._next, self._rows, {})
        try:
            while self.away and not stopping.is_set():
                try:
                    settle(self._engine, late, self._conditions.store)
                except OUTAGE_ERRORS:
                    stopping.wait(AGAIN_S)
                else:
                    self.position = self._next
                    self._emptied()
        finally:
            if self._file is not None:
                self._file.close()

    def _store(self) -> bool:
        asked = time.monotonic()
        rows = self._sizes.numbered(self._rows)
        with writing(self._engine) as connection:
            if not renew(connection, self._claimed, self._next):
                return False
            store(connection, rows, self._conditions.store(connection))
            if self._next == self._claimed.stop:
                finish(connection, self._claimed)
        self._ours_until = asked + lease_s()
        self.position = self._next
        self._emptied()
        return True

    def _emptied(self) -> None:
        if self.away:
            log.warning("shard %s: the database is back and has its runs", self._claimed.shard_id)
        if self._file is not None:
            self._file.remove()
        self._file, self.away, self._full, self._kept = None, False, False, 0
        self._rows.clear()

    def _keep(self) -> None:
        """Put the rows that have come since into the spool."""
        try:
            self._file = self._file or self._spool.begin(self._claimed)
            new = self._rows[self._kept :]
            fits = not new or self._file.keep(self._next, new, self._conditions.seen())
        except OSError as why:
            fits = False
            log.warning("%s", why)
        if fits:
            self._kept = len(self._rows)
        elif not self._full:
            self._full = True
            log.warning("the spool %s is full: no run is begun until the database is back", self._spool.folder)


def settle(engine: Engine, late: Late, shift: Callable[[Connection], int]) -> None:
    """Store what came late. ``shift`` writes the row of the shift that it is of.

    Where the lease is still ours the shard moves on. Where it is not, a run goes in if it is missing: it was measured
    as well as any, and whoever has the shard now leaves it out. Nothing goes into a batch that is cancelled.
    """
    lease = late.lease
    rows = Sizes(engine).numbered(late.rows)
    same = select(Batch.id).where(Batch.id == lease.batch_id, Batch.created_at == lease.created_at)
    with writing(engine) as connection:
        if connection.scalar(same.where(Batch.state != BatchState.CANCELLED)) is None:
            return
        ours = renew(connection, lease, late.position)
        store(connection, rows, shift(connection))
        if ours and late.position == lease.stop:
            finish(connection, lease)


def shift_of(late: Late) -> Callable[[Connection], int]:
    """What writes the row of a shift whose worker was lost."""
    first = late.rows[0]
    began_at = min(row["finished_at"] - row["wall_s"] for row in late.rows)
    same = {"batch_id": late.lease.batch_id, "worker_id": first["worker_id"], "began_at": began_at}
    made = insert(Shift).values(**same, **late.seen).returning(Shift.id)
    return lambda connection: int(connection.execute(made).scalar_one())
