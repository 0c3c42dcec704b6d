"""Supervision: what would otherwise need an operator. It runs in every worker; one at a time acts.

Expired leases go back to the queue, shards whose message was lost are sent again, and batches whose
last shard is done are closed.
"""

from __future__ import annotations

import os
import threading
import uuid
from contextlib import suppress
from pathlib import Path

from celery import Celery
from celery.utils.log import get_logger
from sqlalchemy import Connection, Engine, delete, or_, select, update
from sqlalchemy.exc import SQLAlchemyError

from models import Batch, BatchState, Lease, Shard, ShardState
from models.base import now
from models.engine import insert_new, reading, writing
from workers.connections import MARKER
from workers.host import host_name
from workers.queueing import enqueue, lost, queue_lengths, send
from workers.shards import RETURNED, attempts_after_loss, close_batch
from workers.slots import Slots

DUTY = "supervision"
EVERY_S = 2.0
TERM_S = 10.0
BEAT = "CAGEMATCH_BEAT"  # a file to touch, where somebody looks whether the worker does its rounds
log = get_logger(__name__)


class Supervisor:
    """A thread that beats for its worker, and supervises when no other does."""

    def __init__(self, app: Celery, engine: Engine, slots: Slots, only_batch: int | None) -> None:
        self._app, self._engine, self._slots, self._only = app, engine, slots, only_batch
        self._me = uuid.uuid4().hex
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
            connection.execute(delete(Lease).where(Lease.duty == DUTY, Lease.owner == self._me))

    def _loop(self) -> None:
        while True:
            try:
                self._slots.beat()
                self._mark_broker()
                if beat := os.environ.get(BEAT):
                    Path(beat).touch()
                if take_duty(self._engine, self._me):
                    supervise(self._app, self._engine, self._only)
            except Exception as error:  # whatever it is, the next round may do better, and nobody else would
                log.warning("supervision waits: %s: %s", type(error).__name__, str(error).strip().partition("\n")[0])
                log.debug("supervision", exc_info=True)
            if self._stop.wait(EVERY_S):
                return

    def _mark_broker(self) -> None:
        """Keep our marker in Redis, which may have been restarted empty."""
        if self._app.connections.broker.startswith("redis"):
            with self._app.connection_for_write() as connection:
                connection.default_channel.client.set(MARKER, "1")


def take_duty(engine: Engine, owner: str) -> bool:
    """Take or renew the duty; False while another has it."""
    note = f"{host_name()}:{os.getpid()}"
    with writing(engine) as connection:
        free = or_(Lease.owner == owner, Lease.expires_at < now())
        values = {"owner": owner, "expires_at": now() + TERM_S, "note": note}
        if connection.execute(update(Lease).where(Lease.duty == DUTY, free).values(**values)).rowcount:
            return True
        insert_new(connection, Lease.__table__, [{"duty": DUTY, "owner": owner, "expires_at": 0.0, "note": note}])
        taken = update(Lease).where(Lease.duty == DUTY, Lease.owner == owner).values(**values)
        return bool(connection.execute(taken).rowcount)


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
    """Put the shards of lost workers back in their queues."""
    rows = connection.execute(
        update(Shard)
        .where(Shard.batch_id.in_(batches), Shard.state == ShardState.LEASED, Shard.lease_expires_at < now())
        .values(RETURNED | {"attempts": attempts_after_loss()})
        .returning(Shard.id, Shard.queue)
    )
    return [(shard_id, queue) for shard_id, queue in rows]
