"""State transitions of batches: adding configurations, cancelling and resuming."""

from __future__ import annotations

from typing import Any

from sqlalchemy import Connection, Engine, func, select, update

from cagematch.models import Batch, BatchState, Shard, ShardState
from cagematch.models.base import now
from cagematch.models.engine import writing
from cagematch.scheduler.batches.lookup import configuration_texts
from cagematch.scheduler.batches.shards import add_to
from cagematch.workers import configurations as spelled
from cagematch.workers.shards.leases import UNFINISHED, close_batch

LOCK_CLASS = 0x0CA6E  # the first key of PostgreSQL's advisory lock; the second is the batch's id


def add_configurations(engine: Engine, batch_id: int, configurations: list[spelled.Configuration]) -> int:
    """Add the configurations that a batch does not have yet, and reopen the batch if there are any.

    Returns
    -------
    int
        The number of configurations added.
    """
    with writing(engine) as connection:
        _lock(connection, batch_id)
        known = set(connection.scalars(configuration_texts(batch_id)))
        new = [c for c in configurations if c.text not in known]
        if new:
            add_to(connection, batch_id, new)
            connection.execute(
                update(Batch).where(Batch.id == batch_id).values(state=BatchState.ACTIVE, finished_at=None)
            )
    return len(new)


def cancel(engine: Engine, batch_id: int) -> int:
    """Cancel the unfinished runs of a batch. In-flight runs are killed and their results discarded.

    Returns
    -------
    int
        The number of runs cancelled; 0 if the batch was already cancelled.
    """
    void = {"state": ShardState.CANCELLED, "lease_token": None, "lease_owner": None}
    with writing(engine) as connection:
        _lock(connection, batch_id)
        cancelled = update(Shard).where(_open(batch_id)).values(void).returning(Shard.stop - Shard.position)
        runs = sum(connection.scalars(cancelled))
        connection.execute(
            update(Batch)
            .where(Batch.id == batch_id, Batch.state == BatchState.ACTIVE)
            .values(state=BatchState.CANCELLED, finished_at=now())
        )
    return runs


def resume(engine: Engine, batch_id: int, *, alone: bool) -> int:
    """Resume a cancelled or interrupted batch.

    Parameters
    ----------
    alone
        No other process uses the database: leases and messages of earlier processes are void.

    Returns
    -------
    int
        The number of runs left.
    """
    void = [ShardState.CANCELLED, *([ShardState.LEASED, ShardState.QUEUED] if alone else [])]
    with writing(engine) as connection:
        _lock(connection, batch_id)
        connection.execute(
            update(Shard)
            .where(Shard.batch_id == batch_id, Shard.state.in_(void))
            .values(state=ShardState.WAITING, lease_token=None, lease_owner=None, lease_expires_at=None)
        )
        # Count after this lock: from here on no worker can close the batch.
        connection.execute(select(Batch.id).where(Batch.id == batch_id).with_for_update(key_share=True))
        left = connection.scalar(select(func.sum(Shard.stop - Shard.position)).where(_open(batch_id)))
        if left:
            connection.execute(
                update(Batch).where(Batch.id == batch_id).values(state=BatchState.ACTIVE, finished_at=None)
            )
        else:
            close_batch(connection, batch_id)
    return int(left or 0)


def _lock(connection: Connection, batch_id: int) -> None:
    """Serialise transitions of the batch until the transaction ends. SQLite has a single writer anyway.

    Workers lock a shard and then its batch, so locking the batch row first could deadlock with them.
    """
    if connection.dialect.name == "postgresql":
        connection.execute(select(func.pg_advisory_xact_lock(LOCK_CLASS, batch_id)))


def _open(batch_id: int) -> Any:
    return (Shard.batch_id == batch_id) & Shard.state.in_(UNFINISHED)
