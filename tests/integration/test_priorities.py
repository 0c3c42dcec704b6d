"""The shards of the active batch with the highest priority are sent first."""

from __future__ import annotations

from rows import make_batch, memory_app
from sqlalchemy import Engine, func, select, update

from cagematch.models import Batch, BatchState, Shard, ShardState
from cagematch.models.engine import reading, writing
from cagematch.workers.queues.dispatch import PER_SLOT, enqueue


def set_batch(engine: Engine, batch_id: int, **values: object) -> None:
    with writing(engine) as connection:
        connection.execute(update(Batch).where(Batch.id == batch_id).values(**values))


def sent(engine: Engine) -> dict[int, int]:
    queued = select(Shard.batch_id, func.count()).where(Shard.state == ShardState.QUEUED).group_by(Shard.batch_id)
    with reading(engine) as connection:
        return dict(map(tuple, connection.execute(queued)))


def two_batches(engine: Engine) -> tuple[int, int]:
    for puzzles in (20, 3):
        make_batch(engine, puzzles=puzzles, size=1, state=ShardState.WAITING)
    with reading(engine) as connection:
        low, high = connection.scalars(select(Batch.id).order_by(Batch.id))
    set_batch(engine, high, priority=1)
    return low, high


def test_lower_priority_waits(engine: Engine):
    """A batch waits until all shards of a higher-priority batch are sent."""
    low, high = two_batches(engine)
    app = memory_app(engine)
    app.only_batch = None  # as in a worker that serves every batch

    enqueue(app, engine, low)
    assert sent(engine) == {}

    enqueue(app, engine, high)
    enqueue(app, engine, low)
    assert sent(engine) == {high: PER_SLOT}

    with writing(engine) as connection:
        connection.execute(update(Shard).where(Shard.state == ShardState.QUEUED).values(state=ShardState.DONE))
    enqueue(app, engine, high)
    enqueue(app, engine, low)
    assert sent(engine) == {high: 1, low: PER_SLOT}


def test_inactive_higher_priority(engine: Engine):
    """A higher-priority batch that is not active delays no other batch."""
    low, high = two_batches(engine)
    set_batch(engine, high, state=BatchState.CANCELLED)
    app = memory_app(engine)
    app.only_batch = None

    enqueue(app, engine, low)

    assert sent(engine) == {low: PER_SLOT}


def test_embedded_batch_ignores_priorities(engine: Engine):
    """A command that works on its own batch does not wait for another batch."""
    low, _ = two_batches(engine)
    app = memory_app(engine)
    app.only_batch = low

    enqueue(app, engine, low)

    assert sent(engine) == {low: PER_SLOT}
