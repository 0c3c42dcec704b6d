"""Sending messages: the window of each batch, the next shards of each queue, and messages that were lost.

The database holds the state, and a message only wakes a worker. So a shard is marked as queued first and its message
sent after the commit. At worst a message is missing, and the supervisor sends it again.
"""

from __future__ import annotations

from typing import Any

from celery import Celery
from kombu.exceptions import OperationalError
from redis.exceptions import RedisError
from sqlalchemy import Connection, Engine, func, select, update

from cagematch.models import Batch, BatchState, Shard, ShardState, Worker
from cagematch.models.base import now
from cagematch.models.engine import reading, writing
from cagematch.workers.queues.names import TASK

PER_SLOT = 2  # The window: messages that a batch may have in a queue, per slot that serves the queue.
LIVE_S = 15.0  # Seconds since its last heartbeat after which a worker counts as lost.
RESEND_S = 10.0  # Seconds after sending before a message that is not in the broker counts as lost.


def live(worker: type[Worker] = Worker) -> Any:
    """Return the SQL condition that a worker is alive."""
    return worker.stopped_at.is_(None) & (worker.heartbeat_at > now() - LIVE_S)


def slots_of(connection: Connection) -> dict[str, int]:
    """Return the number of slots of live workers, by queue."""
    slots: dict[str, int] = {}
    for queues, count in connection.execute(select(Worker.queues, Worker.slots).where(live())):
        for queue in queues:
            slots[queue] = slots.get(queue, 0) + count
    return slots


def enqueue(app: Celery, engine: Engine, batch_id: int) -> bool:
    """Fill a batch's window: mark the next shards of each queue as queued, then send their messages.

    A queue gets no shards of this batch while a batch of higher priority has unsent shards for it.

    Returns
    -------
    bool
        False when there was something to send and the broker is unreachable.
    """
    with writing(engine) as connection:
        state = connection.scalar(select(Batch.state).where(Batch.id == batch_id))
        if state is not BatchState.ACTIVE:
            return True
        slots = slots_of(connection)
        due = [
            shard
            for queue, waiting in _waiting(connection, batch_id).items()
            if app.only_batch is not None or not _is_preceded(connection, batch_id, queue)
            for shard in _next(connection, batch_id, queue, PER_SLOT * slots.get(queue, 1) - waiting)
        ]
        if not due:
            return True
        ids = [shard for shard, _ in due]
        connection.execute(update(Shard).where(Shard.id.in_(ids)).values(state=ShardState.QUEUED, sent_at=now()))
    return send(app, due)


def send(app: Celery, shards: list[tuple[int, str]]) -> bool:
    """Send the message of each (shard, queue).

    Returns
    -------
    bool
        False when the broker is unreachable. Nothing is lost: the supervisor sends the messages again.
    """
    if not shards:
        return True
    try:
        with app.producer_or_acquire() as producer:
            for shard_id, queue in shards:
                app.send_task(TASK, (shard_id,), queue=queue, producer=producer, retry=False)
    except (OperationalError, RedisError, OSError):
        return False
    return True


def shards_to_resend(connection: Connection, lengths: dict[str, int], batches: list[int]) -> list[tuple[int, str]]:
    """Find shards that are queued in the database but not in the broker, and mark them as sent now.

    A prefetched message is not in the broker's queue. Sending it twice does no harm, as a shard is claimed once.

    Parameters
    ----------
    lengths
        Messages in each queue of the broker.
    batches
        The batches whose shards may be returned.

    Returns
    -------
    list
        Pairs of a shard and its queue.
    """
    found: list[tuple[int, str]] = []
    for queue, length in lengths.items():
        in_queue = (Shard.state == ShardState.QUEUED) & (Shard.queue == queue)
        queued = connection.scalar(select(func.count()).select_from(Shard).where(in_queue)) or 0
        missing = queued - length
        if missing > 0:
            ours = Shard.batch_id.in_(batches)
            overdue = select(Shard.id).where(in_queue, ours, Shard.sent_at < now() - RESEND_S)
            overdue = overdue.order_by(Shard.sent_at).limit(missing).with_for_update(skip_locked=True)
            found += [(shard_id, queue) for shard_id in connection.scalars(overdue)]
    ids = [shard_id for shard_id, _ in found]
    if ids:
        connection.execute(update(Shard).where(Shard.id.in_(ids)).values(sent_at=now()))
    return found


def queue_lengths(app: Celery, engine: Engine, batches: list[int]) -> dict[str, int]:
    """Return the number of messages in the broker, for every queue in which the batches have a queued shard.

    Raises
    ------
    OperationalError
        The broker is unreachable.
    """
    queued = select(Shard.queue).where(Shard.batch_id.in_(batches), Shard.state == ShardState.QUEUED).distinct()
    with reading(engine) as connection:
        names = list(connection.scalars(queued))
    if not names:
        return {}
    with app.connection_for_write() as connection, connection.channel() as channel:
        return {name: _length(channel, name) for name in names}


def _length(channel: Any, name: str) -> int:
    return int(channel.queue_declare(queue=name, durable=True, auto_delete=False, passive=False).message_count)


def _waiting(connection: Connection, batch_id: int) -> dict[str, int]:
    """The number of sent and unclaimed shards, for each queue in which the batch has unsent ones."""
    queued = func.count().filter(Shard.state == ShardState.QUEUED)
    rows = connection.execute(
        select(Shard.queue, queued, func.count().filter(Shard.state == ShardState.WAITING))
        .where(Shard.batch_id == batch_id, Shard.state.in_((ShardState.QUEUED, ShardState.WAITING)))
        .group_by(Shard.queue)
    )
    return {queue: sent for queue, sent, unsent in rows if unsent}


def _is_preceded(connection: Connection, batch_id: int, queue: str) -> bool:
    """Whether a batch of higher priority has unsent shards for a queue."""
    ours = select(Batch.priority).where(Batch.id == batch_id).scalar_subquery()
    ahead = (
        select(Shard.id)
        .join(Batch, Batch.id == Shard.batch_id)
        .where(Batch.state == BatchState.ACTIVE, Batch.priority > ours)
        .where(Shard.queue == queue, Shard.state == ShardState.WAITING)
    )
    return connection.scalar(ahead.limit(1)) is not None


def _next(connection: Connection, batch_id: int, queue: str, room: int) -> list[tuple[int, str]]:
    """The next shards of a queue, lowest position first, so that all configurations advance together."""
    if room <= 0:
        return []
    query = (
        select(Shard.id, Shard.queue)
        .where(Shard.batch_id == batch_id, Shard.queue == queue, Shard.state == ShardState.WAITING)
        .order_by(Shard.position, Shard.configuration_id)
        .limit(room)
        .with_for_update(skip_locked=True)
    )
    return [(shard_id, name) for shard_id, name in connection.execute(query)]
