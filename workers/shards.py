"""The lease on a shard: claim, renew, put back, finish. Each is one conditional update."""

from __future__ import annotations

import time
import uuid
from collections.abc import Iterator
from dataclasses import dataclass
from typing import Any

from sqlalchemy import ColumnElement, Connection, Engine, and_, case, exists, or_, select, update

from models import Batch, BatchPuzzle, BatchState, Configuration, Puzzle, Shard, ShardState
from models.base import now
from models.engine import reading, writing
from problems.outcome import SOLVING, Asked, Task
from workers.cage import Limits

LEASE_S = 20.0
UNFINISHED = (ShardState.WAITING, ShardState.QUEUED, ShardState.LEASED)


@dataclass(frozen=True, slots=True)
class Claim:
    """A shard that is ours until its lease runs out. ``clock_s``: the database's clock less this host's."""

    shard_id: int
    token: str
    batch_id: int
    configuration_id: int
    configuration: str
    backend: str
    queue: str
    position: int
    stop: int
    attempts: int
    puzzles: int
    seed: int
    limits: Limits
    asked: Asked
    permuted: bool
    clock_s: float

    @property
    def mine(self) -> ColumnElement[bool]:
        """The condition of every later write: the lease is still ours."""
        return and_(Shard.id == self.shard_id, Shard.lease_token == self.token, Shard.state == ShardState.LEASED)


@dataclass(frozen=True, slots=True)
class Planned:
    """A run to do: its index within the configuration, and its puzzle."""

    index: int
    repeat: int
    puzzle_id: int
    kind: str
    text: str


def configuration_of(engine: Engine, shard_id: int) -> str | None:
    """The configuration of a shard that waits to be claimed; None when it does not wait."""
    with reading(engine) as connection:
        return connection.scalar(
            select(Configuration.text)
            .join(Shard, Shard.configuration_id == Configuration.id)
            .where(Shard.id == shard_id, Shard.state == ShardState.QUEUED)
        )


def claim(engine: Engine, shard_id: int, worker_id: int) -> Claim | None:
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
                lease_expires_at=now() + LEASE_S,
                claimed_at_position=Shard.position,
            )
        )
        return _claimed(connection, shard_id, token) if taken.rowcount else None


def _claimed(connection: Connection, shard_id: int, token: str) -> Claim:
    shard = (Shard.batch_id, Shard.configuration_id, Shard.queue, Shard.position, Shard.stop, Shard.attempts)
    batch = (Batch.puzzles, Batch.seed, Batch.timeout_s, Batch.memory_mib, Batch.task, Batch.bound, Batch.permuted)
    configured = (Configuration.text, Configuration.backend)
    row = connection.execute(
        select(*shard, *batch, *configured, now().label("clock"))
        .join(Batch, Batch.id == Shard.batch_id)
        .join(Configuration, Configuration.id == Shard.configuration_id)
        .where(Shard.id == shard_id)
    ).one()
    return Claim(
        shard_id=shard_id,
        token=token,
        batch_id=row.batch_id,
        configuration_id=row.configuration_id,
        configuration=row.text,
        backend=row.backend,
        queue=row.queue,
        position=row.position,
        stop=row.stop,
        attempts=row.attempts,
        puzzles=row.puzzles,
        seed=row.seed,
        limits=Limits(row.timeout_s, row.memory_mib),
        asked=Asked(Task(row.task), row.bound or SOLVING.bound),
        permuted=row.permuted,
        clock_s=row.clock - time.time(),
    )


def planned(engine: Engine, claimed: Claim) -> list[Planned]:
    """The runs that are left of a shard, in order."""
    found: list[Planned] = []
    with reading(engine) as connection:
        index = claimed.position
        while index < claimed.stop:
            repeat, first = divmod(index, claimed.puzzles)
            last = min(claimed.puzzles, first + claimed.stop - index)
            found += _slice(connection, claimed.batch_id, repeat, range(first, last), index)
            index += last - first
    return found


def _slice(connection: Connection, batch_id: int, repeat: int, positions: range, index: int) -> Iterator[Planned]:
    rows = connection.execute(
        select(Puzzle.id, Puzzle.kind, Puzzle.text)
        .join(BatchPuzzle, Puzzle.id == BatchPuzzle.puzzle_id)
        .where(BatchPuzzle.batch_id == batch_id)
        .where(BatchPuzzle.position >= positions.start, BatchPuzzle.position < positions.stop)
        .order_by(BatchPuzzle.position)
    )
    return (Planned(index + at, repeat, *row) for at, row in enumerate(rows))


def renew(connection: Connection, claimed: Claim, position: int, **more: Any) -> bool:
    """Extend the lease and move the position; False when the lease is no longer ours.

    Whoever moves on has not been lost: attempts count anew from the next run.
    """
    attempts = case((Shard.position < position, 0), else_=Shard.attempts)
    values = {"position": position, "lease_expires_at": now() + LEASE_S, "attempts": attempts} | more
    return bool(connection.execute(update(Shard).where(claimed.mine).values(**values)).rowcount)


def attempts_after_loss() -> Any:
    """The attempts of a shard whose worker or keeper was lost.

    One counts only when the position has not moved since the claim, or since the run that a suspect shard marked.
    """
    stuck = or_(Shard.position == Shard.claimed_at_position, Shard.marked == Shard.position)
    return case((stuck, Shard.attempts + 1), else_=0)


RETURNED: dict[str, Any] = {
    "state": ShardState.QUEUED,
    "lease_token": None,
    "lease_owner": None,
    "lease_expires_at": None,
    "sent_at": now(),
}


def put_back(engine: Engine, claimed: Claim, *, lost: bool) -> bool:
    """Give the lease up with work left; the caller sends the shard's message again."""
    values = RETURNED | ({"attempts": attempts_after_loss()} if lost else {})
    with writing(engine) as connection:
        return bool(connection.execute(update(Shard).where(claimed.mine).values(**values)).rowcount)


def finish(connection: Connection, claimed: Claim) -> None:
    """Mark the shard as done, and its batch when it was the last."""
    connection.execute(update(Shard).where(claimed.mine).values(state=ShardState.DONE, lease_token=None))
    close_batch(connection, claimed.batch_id)


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
