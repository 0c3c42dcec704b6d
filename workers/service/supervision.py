"""The supervisor: a thread in every worker that does what would otherwise need an operator.

One supervisor at a time acts for all workers. It returns shards with expired leases to their queues, sends lost
messages again, and closes batches whose last shard is done. In addition each supervisor sends its worker's heartbeat,
stores the results that lost workers of its host left in the spool, and reconnects a silent consumer.
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
from cagematch.workers.queues.dispatch import enqueue, queue_lengths, send, shards_to_resend
from cagematch.workers.queues.gate import reconnect_if_silent
from cagematch.workers.shards.leases import close_batch, lease_s, return_to_queue, returned
from cagematch.workers.shards.outbox import settle, shift_of
from cagematch.workers.shards.slots import Slots
from cagematch.workers.shards.spool import Spool, SpoolFile

# The leases of `DutyLease`: to act for all workers, and the grace period after an outage of the database.
DUTY, GRACE = "supervision", "grace"

EVERY_S = 2.0  # Seconds between two rounds.
TERM_S = 10.0  # Seconds for which the duty is leased.
LAPSE_S = 3.0  # Seconds without any supervisor after a term which show that the database was unreachable.
STOP_S = 1.5  # Seconds that a stopping worker has in any case.
STOP_POLL_S = STOP_S / 10
JOIN_S = 5.0  # Seconds to wait for the thread when a worker stops.
OUTAGE_S = 3 * EVERY_S  # Seconds without a successful round after which a stopping worker exits.
BEAT = "CAGEMATCH_BEAT"  # The variable with a file to touch after each successful round, for a health check.
log = get_logger(__name__)


class Supervisor:
    """The supervisor thread of one worker.

    Parameters
    ----------
    only_batch
        The one batch to supervise, None for all.
    """

    def __init__(self, app: Celery, engine: Engine, slots: Slots, only_batch: int | None) -> None:
        self._app, self._engine, self._slots, self._only_batch = app, engine, slots, only_batch
        self._me = uuid.uuid4().hex
        self._every_s = min(EVERY_S, lease_s() / 8)
        self._succeeded_s = time.monotonic()  # The time of the last round in which both services answered.
        self._stop = threading.Event()
        self._thread = threading.Thread(target=self._loop, name="supervisor", daemon=True)

    def start(self) -> None:
        """Start the thread."""
        self._thread.start()

    def stop(self) -> None:
        """Stop the thread, and release the duty."""
        self._stop.set()
        if self._thread.is_alive():
            self._thread.join(timeout=JOIN_S)
        with suppress(SQLAlchemyError), writing(self._engine) as connection:
            connection.execute(delete(DutyLease).where(DutyLease.duty == DUTY, DutyLease.owner == self._me))

    def exit_in_outage(self) -> None:
        """End the process of a stopping worker once a service has been unreachable for `OUTAGE_S`.

        By then its results are in the spool, its solvers are dead, and its leases expire without it.
        """
        time.sleep(STOP_S)
        while time.monotonic() - self._succeeded_s < OUTAGE_S:
            time.sleep(STOP_POLL_S)
        log.warning("the database or the broker is unreachable; exiting before the shards are returned")
        os._exit(1)

    def _loop(self) -> None:
        reported = ""
        while True:
            try:
                self._round()
                reported, self._succeeded_s = "", time.monotonic()
            except Exception as error:  # The next round may succeed, whatever this error is.
                if reported != type(error).__name__:
                    reported = type(error).__name__
                    log.warning(
                        "supervision failed, retrying every %g s: %s: %s", self._every_s, reported, first_line(error)
                    )
                log.debug("supervision failed", exc_info=True)
            if self._stop.wait(self._every_s):
                return

    def _round(self) -> None:
        self._slots.beat()
        recover_spool(self._app, self._engine, self._slots.spool)
        if take_duty(self._engine, self._me):
            supervise(self._app, self._engine, self._only_batch)
        self._maintain_broker()
        if beat := os.environ.get(BEAT):
            Path(beat).touch()

    def _maintain_broker(self) -> None:
        """Set our marker in Redis, which may have restarted empty, and reconnect a silent consumer."""
        if self._app.connections.broker.startswith("redis"):
            with self._app.connection_for_write() as connection:
                client = connection.default_channel.client
                client.set(MARKER, "1")
                reconnect_if_silent(self._app, client)


def take_duty(engine: Engine, owner: str) -> bool:
    """Lease or renew the duty to act for all workers.

    If no worker held the duty for `LAPSE_S`, the database was unreachable and no shard's lease could be renewed. Their
    holders then get a grace period as long as a lease to store their results.

    Returns
    -------
    bool
        False while another worker holds the duty.
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


def recover_spool(app: Celery, engine: Engine, spool: Spool) -> None:
    """Store the results that lost workers of this host left in the spool, and return their shards to the queue."""
    for path in spool.files():
        if file := spool.abandoned(path):
            try:
                _recover(app, engine, file)
            finally:
                file.close()


def _recover(app: Celery, engine: Engine, file: SpoolFile) -> None:
    try:
        if late := file.read():
            settle(engine, late, shift_of(late))
    except OUTAGE_ERRORS:
        raise
    except (SQLAlchemyError, ValueError, LookupError, TypeError) as error:  # Rejected, or in another release's format.
        log.warning("results cannot be stored and stay in %s: %s", file.set_aside(), first_line(error))
        return
    if late:
        log.warning("stored %s runs that a lost worker left in the spool", len(late.rows))
        if return_to_queue(engine, late.lease, lost=False):
            send(app, [(late.lease.shard_id, late.lease.queue)])
    file.remove()


def supervise(app: Celery, engine: Engine, only_batch: int | None = None) -> None:
    """Do one round for every active batch, or for one."""
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
        resend = shards_to_resend(connection, lengths, batches)
    send(app, list({*expired, *resend}))
    for batch in batches:
        enqueue(app, engine, batch)


def return_expired(connection: Connection, batches: list[int]) -> list[tuple[int, str]]:
    """Return the shards of lost workers to their queues, except during the grace period after an outage.

    Returns
    -------
    list
        Pairs of a shard and its queue, for which messages are to be sent.
    """
    grace_period = exists().where(DutyLease.duty == GRACE, DutyLease.expires_at > now())
    expired = (Shard.state == ShardState.LEASED) & (Shard.lease_expires_at < now())
    # A locked row is being written by its holder, which may have been suspended past the end of its lease.
    found = (
        select(Shard.id).where(Shard.batch_id.in_(batches), expired, ~grace_period).with_for_update(skip_locked=True)
    )
    rows = connection.execute(returned(Shard.id.in_(found), lost=True).returning(Shard.id, Shard.queue))
    return [(shard_id, queue) for shard_id, queue in rows]
