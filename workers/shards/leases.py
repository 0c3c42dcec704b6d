"""The lease on a shard: claim, renew, return to the queue, finish. Each is one conditional update."""

from __future__ import annotations

import os
import time
import uuid
from dataclasses import dataclass
from typing import Any

from sqlalchemy import ColumnElement, Connection, Engine, Update, and_, case, exists, select, update

from cagematch.models import Batch, BatchState, Shard, ShardState, StoredConfiguration
from cagematch.models.base import now
from cagematch.models.engine import reading, writing
from cagematch.problems.errors import ServiceError
from cagematch.problems.outcome import SOLVING, Asked, Task
from cagematch.workers.messages.protocol import BatchLimits

LEASE_S = 20.0  # seconds for which a silent worker keeps its shards
SHORTEST_S = 2.0  # a lease is renewed about once per second
LEASE = "CAGEMATCH_LEASE_S"  # environment variable
UNFINISHED = (ShardState.WAITING, ShardState.QUEUED, ShardState.LEASED)


@dataclass(frozen=True, slots=True)
class ShardLease:
    """A lease as it was granted.

    Attributes
    ----------
    token
        Names this lease of the shard; every later one has another token.
    created_at
        When the batch was created: another database may have another batch of the same number.
    stop
        The position after the last run of the shard.
    """

    shard_id: int
    token: str
    batch_id: int
    created_at: float
    queue: str
    stop: int

    @property
    def mine(self) -> ColumnElement[bool]:
        """The condition of every later write: the lease is still valid."""
        return and_(Shard.id == self.shard_id, Shard.lease_token == self.token, Shard.state == ShardState.LEASED)


@dataclass(frozen=True, slots=True)
class ClaimedShard(ShardLease):
    """A claimed shard, with the settings of its batch.

    Attributes
    ----------
    position
        The index of the first run that is not stored.
    attempts
        How often a worker was lost at that position.
    puzzles
        The number of distinct puzzles of the batch.
    permuted
        Whether each repeat is solved under another symmetry of its puzzle.
    clock_s
        The database's clock minus the host's.
    """

    configuration_id: int
    configuration: str
    backend: str
    position: int
    attempts: int
    puzzles: int
    seed: int
    limits: BatchLimits
    asked: Asked
    permuted: bool
    clock_s: float


def lease_s() -> float:
    """Seconds for which a silent worker keeps its shards: CAGEMATCH_LEASE_S, or LEASE_S.

    Raises
    ------
    ServiceError
        CAGEMATCH_LEASE_S is not a number of at least SHORTEST_S.
    """
    setting = os.environ.get(LEASE) or str(LEASE_S)
    try:
        seconds = float(setting)
    except ValueError:
        seconds = 0.0
    if not SHORTEST_S <= seconds <= 1e6:
        raise ServiceError(f"{LEASE} is {setting!r}; expected a number of seconds, {SHORTEST_S:g} or more")
    return seconds


def configuration_of(engine: Engine, shard_id: int) -> str | None:
    """The configuration of a shard that is queued; None when it is in another state."""
    with reading(engine) as connection:
        return connection.scalar(
            select(StoredConfiguration.text)
            .join(Shard, Shard.configuration_id == StoredConfiguration.id)
            .where(Shard.id == shard_id, Shard.state == ShardState.QUEUED)
        )


def claim(engine: Engine, shard_id: int, worker_id: int) -> ClaimedShard | None:
    """Claim a queued shard.

    Returns None when the shard is not queued: the message was delivered twice, or the batch was cancelled.
    """
    token = uuid.uuid4().hex
    with writing(engine) as connection:
        taken = connection.execute(
            update(Shard)
            .where(Shard.id == shard_id, Shard.state == ShardState.QUEUED)
            .values(
                state=ShardState.LEASED,
                lease_token=token,
                lease_owner=worker_id,
                lease_expires_at=now() + lease_s(),
                claimed_at_position=Shard.position,
                marked=None,
            )
        )
        return _claimed(connection, shard_id, token) if taken.rowcount else None


def _claimed(connection: Connection, shard_id: int, token: str) -> ClaimedShard:
    shard = (Shard.batch_id, Shard.configuration_id, Shard.queue, Shard.position, Shard.stop, Shard.attempts)
    batch = (Batch.puzzles, Batch.seed, Batch.timeout_s, Batch.memory_mib, Batch.task, Batch.bound, Batch.permuted)
    configured = (StoredConfiguration.text, StoredConfiguration.backend, Batch.created_at)
    row = connection.execute(
        select(*shard, *batch, *configured, now().label("clock"))
        .join(Batch, Batch.id == Shard.batch_id)
        .join(StoredConfiguration, StoredConfiguration.id == Shard.configuration_id)
        .where(Shard.id == shard_id)
    ).one()
    return ClaimedShard(
        shard_id=shard_id,
        token=token,
        batch_id=row.batch_id,
        created_at=row.created_at,
        queue=row.queue,
        stop=row.stop,
        configuration_id=row.configuration_id,
        configuration=row.text,
        backend=row.backend,
        position=row.position,
        attempts=row.attempts,
        puzzles=row.puzzles,
        seed=row.seed,
        limits=BatchLimits(row.timeout_s, row.memory_mib),
        asked=Asked(Task(row.task), row.bound or SOLVING.bound),
        permuted=row.permuted,
        clock_s=row.clock - time.time(),
    )


def renew(connection: Connection, lease: ShardLease, position: int, **more: Any) -> bool:
    """Extend the lease and move the position; return False when the lease is lost.

    A shard that moves resets its attempts: they count per run.
    """
    attempts = case((Shard.position < position, 0), else_=Shard.attempts)
    values = {"position": position, "lease_expires_at": now() + lease_s(), "attempts": attempts} | more
    return bool(connection.execute(update(Shard).where(lease.mine).values(**values)).rowcount)


def _attempts_after_loss() -> Any:
    """The attempts of a shard whose worker or keeper was lost, as an SQL expression.

    A shard that was lost without progress is suspect: its runs are marked before they start, one at a time. From then
    on an attempt counts only against a marked run, because a worker may be lost for another reason.
    """
    begun, moved = Shard.marked == Shard.position, Shard.position != Shard.claimed_at_position
    return case((begun, Shard.attempts + 1), (moved, 0), (Shard.attempts == 0, 1), else_=Shard.attempts)


def returned(condition: ColumnElement[bool], *, lost: bool) -> Update:
    """The statement that returns shards to their queues. ``lost``: their worker or keeper was lost."""
    update_shards = update(Shard).where(condition)
    if lost:
        update_shards = update_shards.values(attempts=_attempts_after_loss())
    return update_shards.values(
        state=ShardState.QUEUED, lease_token=None, lease_owner=None, lease_expires_at=None, sent_at=now()
    )


def return_to_queue(engine: Engine, lease: ShardLease, *, lost: bool) -> bool:
    """Release the lease of an unfinished shard; the caller sends the shard's message again.

    ``lost``: the keeper was lost, which counts as an attempt. Returns False when the lease was lost before.
    """
    with writing(engine) as connection:
        return bool(connection.execute(returned(lease.mine, lost=lost)).rowcount)


def finish(connection: Connection, lease: ShardLease) -> None:
    """Mark the shard as done, and its batch when this was the last shard."""
    connection.execute(update(Shard).where(lease.mine).values(state=ShardState.DONE, lease_token=None))
    close_batch(connection, lease.batch_id)


def close_batch(connection: Connection, batch_id: int) -> None:
    """Mark a batch as done when all its shards are finished.

    The batch is locked first. Otherwise two workers that finish the last two shards at the same time would each see
    the other shard as unfinished. ``key_share``: a transaction that stores a run or a shard already holds a key lock
    on the batch, and two of them would deadlock on a stronger lock.
    """
    connection.execute(select(Batch.id).where(Batch.id == batch_id).with_for_update(key_share=True))
    left = exists().where(Shard.batch_id == batch_id, Shard.state.in_(UNFINISHED))
    connection.execute(
        update(Batch)
        .where(Batch.id == batch_id, Batch.state == BatchState.ACTIVE, ~left)
        .values(state=BatchState.DONE, finished_at=now())
    )
