"""The lease on a shard: claim, renew, put back, finish. Each is one conditional update."""

from __future__ import annotations

import os
import time
import uuid
from collections.abc import Iterator
from dataclasses import dataclass
from typing import Any

from sqlalchemy import ColumnElement, Connection, Engine, and_, case, exists, select, update

from cagematch.models import Batch, BatchPuzzle, BatchState, Run, Shard, ShardState, StoredConfiguration, StoredPuzzle
from cagematch.models.base import now
from cagematch.models.engine import reading, writing
from cagematch.problems.errors import ServiceError
from cagematch.problems.outcome import SOLVING, Asked, Task
from cagematch.workers.keeper.client import Limits

LEASE_S = 20.0
SHORTEST_S = 2.0  # a lease is renewed about once a second
LEASE = "CAGEMATCH_LEASE_S"
UNFINISHED = (ShardState.WAITING, ShardState.QUEUED, ShardState.LEASED)


@dataclass(frozen=True, slots=True)
class ShardLease:
    """A lease as it was granted. ``created_at`` is the batch's: another database has other batches of that number."""

    shard_id: int
    token: str
    batch_id: int
    created_at: float
    queue: str
    stop: int

    @property
    def mine(self) -> ColumnElement[bool]:
        """The condition of every later write: the lease is still ours."""
        return and_(Shard.id == self.shard_id, Shard.lease_token == self.token, Shard.state == ShardState.LEASED)


@dataclass(frozen=True, slots=True)
class ClaimedShard(ShardLease):
    """A shard that is ours until its lease runs out. ``clock_s``: the database's clock less this host's."""

    configuration_id: int
    configuration: str
    backend: str
    position: int
    attempts: int
    puzzles: int
    seed: int
    limits: Limits
    asked: Asked
    permuted: bool
    clock_s: float


@dataclass(frozen=True, slots=True)
class Planned:
    """A run to do: its index within the configuration, and its puzzle."""

    index: int
    repeat: int
    puzzle_id: int
    kind: str
    text: str


def lease_s() -> float:
    """Seconds for which a worker that says nothing keeps its shards: CAGEMATCH_LEASE_S, or LEASE_S."""
    told = os.environ.get(LEASE) or str(LEASE_S)
    try:
        seconds = float(told)
    except ValueError:
        seconds = 0.0
    if not SHORTEST_S <= seconds <= 1e6:
        raise ServiceError(f"{LEASE} is {told!r}; expected seconds, {SHORTEST_S:g} or more")
    return seconds


def configuration_of(engine: Engine, shard_id: int) -> str | None:
    """The configuration of a shard that waits to be claimed; None when it does not wait."""
    with reading(engine) as connection:
        return connection.scalar(
            select(StoredConfiguration.text)
            .join(Shard, Shard.configuration_id == StoredConfiguration.id)
            .where(Shard.id == shard_id, Shard.state == ShardState.QUEUED)
        )


def claim(engine: Engine, shard_id: int, worker_id: int) -> ClaimedShard | None:
    """Take the lease; None when it is not to be had: a second delivery, a cancelled batch."""
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
        limits=Limits(row.timeout_s, row.memory_mib),
        asked=Asked(Task(row.task), row.bound or SOLVING.bound),
        permuted=row.permuted,
        clock_s=row.clock - time.time(),
    )


def planned(engine: Engine, claimed: ClaimedShard) -> list[Planned]:
    """The runs that are left of a shard, in order; some may be stored: they came late, under an earlier lease."""
    found: list[Planned] = []
    with reading(engine) as connection:
        index = claimed.position
        while index < claimed.stop:
            repeat, first = divmod(index, claimed.puzzles)
            last = min(claimed.puzzles, first + claimed.stop - index)
            found += _slice(connection, claimed, repeat, range(first, last), index - first)
            index += last - first
    return found


def _slice(
    connection: Connection, claimed: ClaimedShard, repeat: int, positions: range, offset: int
) -> Iterator[Planned]:
    of_these = (Run.batch_id == claimed.batch_id) & (Run.configuration_id == claimed.configuration_id)
    stored = exists().where(of_these, Run.puzzle_id == BatchPuzzle.puzzle_id, Run.repeat == repeat)
    rows = connection.execute(
        select(BatchPuzzle.position, StoredPuzzle.id, StoredPuzzle.kind, StoredPuzzle.text)
        .join(BatchPuzzle, StoredPuzzle.id == BatchPuzzle.puzzle_id)
        .where(BatchPuzzle.batch_id == claimed.batch_id, ~stored)
        .where(BatchPuzzle.position >= positions.start, BatchPuzzle.position < positions.stop)
        .order_by(BatchPuzzle.position)
    )
    return (Planned(offset + row.position, repeat, row.id, row.kind, row.text) for row in rows)


def renew(connection: Connection, lease: ShardLease, position: int, **more: Any) -> bool:
    """Extend the lease and move the position; False when the lease is no longer ours.

    Whoever moves on has not been lost: attempts count anew from the next run.
    """
    attempts = case((Shard.position < position, 0), else_=Shard.attempts)
    values = {"position": position, "lease_expires_at": now() + lease_s(), "attempts": attempts} | more
    return bool(connection.execute(update(Shard).where(lease.mine).values(**values)).rowcount)


def attempts_after_loss() -> Any:
    """The attempts of a shard whose worker or keeper was lost.

    Lost without having moved, a shard is suspect: its runs are marked before they begin, one at a time. From then on
    an attempt counts only against a run that was marked: a worker may be lost for other reasons, too.
    """
    begun, moved = Shard.marked == Shard.position, Shard.position != Shard.claimed_at_position
    return case((begun, Shard.attempts + 1), (moved, 0), (Shard.attempts == 0, 1), else_=Shard.attempts)


RETURNED: dict[str, Any] = {
    "state": ShardState.QUEUED,
    "lease_token": None,
    "lease_owner": None,
    "lease_expires_at": None,
    "sent_at": now(),
}


def put_back(engine: Engine, lease: ShardLease, *, lost: bool) -> bool:
    """Give the lease up with work left; the caller sends the shard's message again."""
    values = RETURNED | ({"attempts": attempts_after_loss()} if lost else {})
    with writing(engine) as connection:
        return bool(connection.execute(update(Shard).where(lease.mine).values(**values)).rowcount)


def finish(connection: Connection, lease: ShardLease) -> None:
    """Mark the shard as done, and its batch when it was the last."""
    connection.execute(update(Shard).where(lease.mine).values(state=ShardState.DONE, lease_token=None))
    close_batch(connection, lease.batch_id)


def close_batch(connection: Connection, batch_id: int) -> None:
    """Mark a batch as done when none of its shards has anything left.

    The batch is locked before it is looked at: of two that finish its last two shards at one time, each would see
    the other's as unfinished, and neither would close it. ``key_share``: whoever stores a run or a shard holds a
    lock on its key already, as the row that it refers to, and two such would wait for each other for ever.
    """
    connection.execute(select(Batch.id).where(Batch.id == batch_id).with_for_update(key_share=True))
    left = exists().where(Shard.batch_id == batch_id, Shard.state.in_(UNFINISHED))
    connection.execute(
        update(Batch)
        .where(Batch.id == batch_id, Batch.state == BatchState.ACTIVE, ~left)
        .values(state=BatchState.DONE, finished_at=now())
    )
