"""Messages: how many are out, which shard's is next, and which were lost.

The database remembers; a message only wakes a worker. So a shard is marked as queued first, and its
message sent after the commit: at worst a message is missing, and supervision sends it again.
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

PER_SLOT = 2  # messages a batch may have in a queue, a slot
LIVE_S = 15.0  # a worker whose heartbeat is older is taken for gone
RESEND_S = 10.0  # a queued shard is not looked for in the broker before


def live(worker: type[Worker] = Worker) -> Any:
    """The condition that a worker is alive."""
    return worker.stopped_at.is_(None) & (worker.heartbeat_at > now() - LIVE_S)


def slots_of(connection: Connection) -> dict[str, int]:
    """Live slots per queue."""
    slots: dict[str, int] = {}
    for queues, count in connection.execute(select(Worker.queues, Worker.slots).where(live())):
        for queue in queues:
            slots[queue] = slots.get(queue, 0) + count
    return slots


def enqueue(app: Celery, engine: Engine, batch_id: int) -> bool:
    """Fill a batch's window: mark the next shards of each queue as queued, then send their messages.

    A queue for which a batch of a higher priority has shards that are not sent is left to that one. Returns False when
    the broker did not take what there was to send.
    """
    with writing(engine) as connection:
        state = connection.scalar(select(Batch.state).where(Batch.id == batch_id))
        if state is not BatchState.ACTIVE:
            return True
        slots = slots_of(connection)
        due = [
            shard
            for queue, waiting in _waiting(connection, batch_id).items()
            if app.only_batch is not None or not _preceded(connection, batch_id, queue)
            for shard in _next(connection, batch_id, queue, PER_SLOT * slots.get(queue, 1) - waiting)
        ]
        if not due:
            return True
        ids = [shard for shard, _ in due]
        connection.execute(update(Shard).where(Shard.id.in_(ids)).values(state=ShardState.QUEUED, sent_at=now()))
    return send(app, due)


def send(app: Celery, shards: list[tuple[int, str]]) -> bool:
    """Send the message of each (shard, queue). An unreachable broker is no loss, but False: supervision sends again."""
    if not shards:
        return True
    try:
        with app.producer_or_acquire() as producer:
            for shard_id, queue in shards:
                app.send_task(TASK, (shard_id,), queue=queue, producer=producer, retry=False)
    except (OperationalError, RedisError, OSError):
        return False
    return True


def lost(connection: Connection, lengths: dict[str, int], batches: list[int]) -> list[tuple[int, str]]:
    """Shards that are queued in the database but not in the broker, marked as sent just now.

    ``lengths``: messages in each broker queue. A message that a worker has taken and not begun is in neither;
    sending it twice does no harm, as a shard is claimed once.
    """
    found: list[tuple[int, str]] = []
    for queue, length in lengths.items():
        here = (Shard.state == ShardState.QUEUED) & (Shard.queue == queue)
        queued = connection.scalar(select(func.count()).select_from(Shard).where(here)) or 0
        missing = queued - length
        if missing > 0:
            mine = Shard.batch_id.in_(batches)
            late = select(Shard.id).where(here, mine, Shard.sent_at < now() - RESEND_S)
            late = late.order_by(Shard.sent_at).limit(missing).with_for_update(skip_locked=True)
            found += [(shard_id, queue) for shard_id in connection.scalars(late)]
    ids = [shard_id for shard_id, _ in found]
    if ids:
        connection.execute(update(Shard).where(Shard.id.in_(ids)).values(sent_at=now()))
    return found


def queue_lengths(app: Celery, engine: Engine, batches: list[int]) -> dict[str, int]:
    """Messages waiting in the broker, for every queue in which the batches have a queued shard."""
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
    """For each queue in which the batch has unsent shards, how many of its shards are sent and not begun."""
    queued = func.count().filter(Shard.state == ShardState.QUEUED)
    rows = connection.execute(
        select(Shard.queue, queued, func.count().filter(Shard.state == ShardState.WAITING))
        .where(Shard.batch_id == batch_id, Shard.state.in_((ShardState.QUEUED, ShardState.WAITING)))
        .group_by(Shard.queue)
    )
    return {queue: sent for queue, sent, unsent in rows if unsent}


def _preceded(connection: Connection, batch_id: int, queue: str) -> bool:
    """Whether a batch of a higher priority waits to have shards sent to a queue."""
    mine = select(Batch.priority).where(Batch.id == batch_id).scalar_subquery()
    before = (
        select(Shard.id)
        .join(Batch, Batch.id == Shard.batch_id)
        .where(Batch.state == BatchState.ACTIVE, Batch.priority > mine)
        .where(Shard.queue == queue, Shard.state == ShardState.WAITING)
    )
    return connection.scalar(before.limit(1)) is not None


def _next(connection: Connection, batch_id: int, queue: str, room: int) -> list[tuple[int, str]]:
    """The next shards of a queue: lowest start first, so that configurations advance together."""
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
