"""Supervision: what would otherwise need an operator. It runs in every worker; one at a time acts for all.

Expired leases go back to the queue, shards whose message was lost are sent again, and batches whose
last shard is done are closed. Each worker sees to what lost workers of its host left in the spool, and to its own ears.
"""

from __future__ import annotations

import os
import threading
import time
import uuid
from contextlib import suppress
from pathlib import Path

from celery import Celery
from celery.utils.log import get_logger
from sqlalchemy import Connection, Engine, delete, exists, or_, select, update
from sqlalchemy.exc import SQLAlchemyError

from cagematch.models import Batch, BatchState, DutyLease, Shard, ShardState
from cagematch.models.base import now
from cagematch.models.engine import OUTAGE_ERRORS, insert_new, reading, writing
from cagematch.problems.errors import first_line
from cagematch.workers.connections import MARKER
from cagematch.workers.machine.host import host_name
from cagematch.workers.queues.dispatch import enqueue, lost, queue_lengths, send
from cagematch.workers.queues.gate import listen
from cagematch.workers.shards.leases import RETURNED, attempts_after_loss, close_batch, lease_s, put_back
from cagematch.workers.shards.outbox import settle, shift_of
from cagematch.workers.shards.slots import Slots
from cagematch.workers.shards.spool import Spool, SpoolFile

DUTY, GRACE = "supervision", "grace"
EVERY_S = 2.0
TERM_S = 10.0
STOP_S = 1.5  # what a worker that stops is given in any case
LAPSE_S = 3.0  # that nobody supervised for so long after a term means that nobody could
BEAT = "CAGEMATCH_BEAT"  # a file to touch, where somebody looks whether the worker does its rounds
log = get_logger(__name__)


class Supervisor:
    """A thread that beats for its worker, and supervises when no other does."""

    def __init__(self, app: Celery, engine: Engine, slots: Slots, only_batch: int | None) -> None:
        self._app, self._engine, self._slots, self._only = app, engine, slots, only_batch
        self._me = uuid.uuid4().hex
        self._every_s = min(EVERY_S, lease_s() / 8)
        self._well_s = time.monotonic()  # when the database and the broker last answered
        self._stop = threading.Event()
        self._thread = threading.Thread(target=self._loop, name="supervisor", daemon=True)

    def start(self) -> None:
        """Begin."""
        self._thread.start()

    def stop(self) -> None:
        """End, and give the duty up."""
        self._stop.set()
        if self._thread.is_alive():
            self._thread.join(timeout=5)
        with suppress(SQLAlchemyError), writing(self._engine) as connection:
            connection.execute(delete(DutyLease).where(DutyLease.duty == DUTY, DutyLease.owner == self._me))

    def end_at_last(self) -> None:
        """End the process of a worker that is told to stop where a service that says nothing holds it up.

        What it has is in the spool, its solvers are dead, and its leases run out by themselves.
        """
        time.sleep(STOP_S)
        while time.monotonic() - self._well_s < 3 * EVERY_S:
            time.sleep(STOP_S / 10)
        log.warning("the database or the broker does not answer: ended without it")
        os._exit(1)

    def _loop(self) -> None:
        told = ""
        while True:
            try:
                self._round()
                told, self._well_s = "", time.monotonic()
            except Exception as error:  # whatever it is, the next round may do better, and nobody else would
                if told != type(error).__name__:
                    told = type(error).__name__
                    log.warning("supervision waits: %s: %s", told, first_line(error))
                log.debug("supervision", exc_info=True)
            if self._stop.wait(self._every_s):
                return

    def _round(self) -> None:
        self._slots.beat()
        take_up(self._app, self._engine, self._slots.spool)
        if take_duty(self._engine, self._me):
            supervise(self._app, self._engine, self._only)
        self._attend_broker()
        if beat := os.environ.get(BEAT):
            Path(beat).touch()

    def _attend_broker(self) -> None:
        """Keep our marker in Redis, which may have been restarted empty, and hear what is in it."""
        if self._app.connections.broker.startswith("redis"):
            with self._app.connection_for_write() as connection:
                client = connection.default_channel.client
                client.set(MARKER, "1")
                listen(self._app, client)


def take_duty(engine: Engine, owner: str) -> bool:
    """Take or renew the duty; False while another has it.

    Where nobody had it for long, the database was away for all, and no lease could be renewed: then those who hold one
    are given the time of a lease to come back with what they have.
    """
    with writing(engine) as connection:
        lapsed = connection.scalar(select(now() - DutyLease.expires_at).where(DutyLease.duty == DUTY))
        if not _take(connection, DUTY, owner, min(TERM_S, lease_s() / 2)):
            return False
        if lapsed is not None and lapsed > LAPSE_S:
            _take(connection, GRACE, owner, lease_s())
        return True


def _take(connection: Connection, duty: str, owner: str, term_s: float) -> bool:
    note = f"{host_name()}:{os.getpid()}"
    free = or_(DutyLease.owner == owner, DutyLease.expires_at < now())
    values = {"owner": owner, "expires_at": now() + term_s, "note": note}
    if connection.execute(update(DutyLease).where(DutyLease.duty == duty, free).values(**values)).rowcount:
        return True
    insert_new(connection, DutyLease.__table__, [{"duty": duty, "owner": owner, "expires_at": 0.0, "note": note}])
    taken = update(DutyLease).where(DutyLease.duty == duty, DutyLease.owner == owner).values(**values)
    return bool(connection.execute(taken).rowcount)


def take_up(app: Celery, engine: Engine, spool: Spool) -> None:
    """Store what lost workers of this host left in the spool, and put the shards back that they still hold."""
    for path in spool.files():
        if file := spool.left(path):
            try:
                _take_up(app, engine, file)
            finally:
                file.close()


def _take_up(app: Celery, engine: Engine, file: SpoolFile) -> None:
    try:
        if late := file.read():
            settle(engine, late, shift_of(late))
    except OUTAGE_ERRORS:
        raise
    except (SQLAlchemyError, ValueError, LookupError, TypeError) as error:  # refused, or not as we write it now
        log.warning("what is in %s cannot be stored, and stays there: %s", file.set_aside(), first_line(error))
        return
    if late:
        log.warning("%s runs of a lost worker were in the spool; the database has them now", len(late.rows))
        if put_back(engine, late.lease, lost=False):
            send(app, [(late.lease.shard_id, late.lease.queue)])
    file.remove()


def supervise(app: Celery, engine: Engine, only_batch: int | None = None) -> None:
    """One round, over every active batch or one."""
    with reading(engine) as connection:
        batches = list(connection.scalars(select(Batch.id).where(Batch.state == BatchState.ACTIVE)))
    if only_batch is not None:
        batches = [batch for batch in batches if batch == only_batch]
    if not batches:
        return
    with writing(engine) as connection:
        expired = return_expired(connection, batches)
        for batch in batches:
            close_batch(connection, batch)
    lengths = queue_lengths(app, engine, batches)
    with writing(engine) as connection:
        missing = lost(connection, lengths, batches)
    send(app, list({*expired, *missing}))
    for batch in batches:
        enqueue(app, engine, batch)


def return_expired(connection: Connection, batches: list[int]) -> list[tuple[int, str]]:
    """Put the shards of lost workers back in their queues; not while all are given time."""
    given_time = exists().where(DutyLease.duty == GRACE, DutyLease.expires_at > now())
    expired = (Shard.state == ShardState.LEASED) & (Shard.lease_expires_at < now())
    # One that is locked is being written to by its holder, who may have been suspended meanwhile.
    found = select(Shard.id).where(Shard.batch_id.in_(batches), expired, ~given_time).with_for_update(skip_locked=True)
    rows = connection.execute(
        update(Shard)
        .where(Shard.id.in_(found))
        .values(RETURNED | {"attempts": attempts_after_loss()})
        .returning(Shard.id, Shard.queue)
    )
    return [(shard_id, queue) for shard_id, queue in rows]
