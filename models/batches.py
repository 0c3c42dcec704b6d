"""Batches, their configurations, and the shards that they are cut into."""

from __future__ import annotations

from enum import StrEnum
from typing import Any

from sqlalchemy import JSON, CheckConstraint, ForeignKey, Index, Text, false
from sqlalchemy.orm import Mapped, mapped_column

from cagematch.models.base import Base, Id, Instant, Seconds, ShortText, choice


class BatchState(StrEnum):
    """Where a batch is in its life."""

    LOADING = "loading"
    ACTIVE = "active"
    DONE = "done"
    CANCELLED = "cancelled"


class ShardState(StrEnum):
    """Where a shard is: not sent, sent, being worked on, finished, or dropped with its batch."""

    WAITING = "waiting"
    QUEUED = "queued"
    LEASED = "leased"
    DONE = "done"
    CANCELLED = "cancelled"


class StoredConfiguration(Base):
    """A backend with its parameters. ``text``: as users type it, ``expanded``: with its preset spelled out."""

    __tablename__ = "configuration"

    id: Mapped[Id]
    text: Mapped[str] = mapped_column(Text, unique=True)
    expanded: Mapped[str] = mapped_column(Text)
    backend: Mapped[ShortText]


class Batch(Base):
    """What one submit makes: puzzles × configurations × repeats under one task and one set of limits.

    ``puzzles`` counts the distinct ones. Run k of a configuration, 0 ≤ k < puzzles × repeats, is the puzzle at
    position k mod ``puzzles`` of the shuffled order, repeat k div ``puzzles``. ``bound``: the most solutions that a
    count looks for. ``taken``: how many puzzles of each set at most. ``permuted``: each repeat is solved under a
    symmetry of its own. ``priority``: of two batches the one with more goes first. ``again``: the batch that it
    repeats.
    """

    __tablename__ = "batch"
    __table_args__ = ({"sqlite_autoincrement": True},)  # a number that was pruned is not given again

    id: Mapped[Id]
    name: Mapped[str | None] = mapped_column(Text, unique=True)
    state: Mapped[BatchState] = mapped_column(choice(BatchState))
    task: Mapped[ShortText]
    bound: Mapped[int | None]
    timeout_s: Mapped[Seconds]
    memory_mib: Mapped[int]
    repeats: Mapped[int]
    seed: Mapped[int]
    puzzles: Mapped[int]
    taken: Mapped[int | None]
    permuted: Mapped[bool] = mapped_column(server_default=false())
    priority: Mapped[int] = mapped_column(server_default="0")
    again: Mapped[int | None]
    versions: Mapped[dict[str, Any]] = mapped_column(JSON)
    created_at: Mapped[Instant]
    finished_at: Mapped[Instant | None]


class BatchSet(Base):
    """A set that a batch draws its puzzles from, in the order given."""

    __tablename__ = "batch_set"

    batch_id: Mapped[int] = mapped_column(ForeignKey("batch.id", ondelete="CASCADE"), primary_key=True)
    set_id: Mapped[int] = mapped_column(ForeignKey("puzzle_set.id"), primary_key=True)
    position: Mapped[int]


class BatchConfiguration(Base):
    """A configuration that a batch compares, in the order given."""

    __tablename__ = "batch_configuration"

    batch_id: Mapped[int] = mapped_column(ForeignKey("batch.id", ondelete="CASCADE"), primary_key=True)
    configuration_id: Mapped[int] = mapped_column(ForeignKey("configuration.id"), primary_key=True)
    position: Mapped[int]


class BatchPuzzle(Base):
    """The batch's distinct puzzles in the order in which they are solved, shuffled by its seed."""

    __tablename__ = "batch_puzzle"

    batch_id: Mapped[int] = mapped_column(ForeignKey("batch.id", ondelete="CASCADE"), primary_key=True)
    position: Mapped[int] = mapped_column(primary_key=True)
    puzzle_id: Mapped[int] = mapped_column(ForeignKey("puzzle.id"), index=True)


class Shard(Base):
    """Runs ``start`` to ``stop`` (exclusive) of one configuration of a batch: one message, one lease at a time.

    ``position``: the next run to do. ``attempts``: leases lost since the position last moved. ``marked``: the
    run that a suspect shard had begun, so that the run which takes its workers with it is known.
    """

    __tablename__ = "shard"
    __table_args__ = (
        CheckConstraint("start <= position AND position <= stop", name="position"),
        # A batch's next shards of a queue, in their order; and by its beginning, what a batch has left.
        Index("ix_shard_batch_id_state_queue_position", "batch_id", "state", "queue", "position", "configuration_id"),
        Index("ix_shard_state_queue", "state", "queue"),
    )

    id: Mapped[Id]
    batch_id: Mapped[int] = mapped_column(ForeignKey("batch.id", ondelete="CASCADE"))
    configuration_id: Mapped[int] = mapped_column(ForeignKey("configuration.id"))
    queue: Mapped[ShortText]
    state: Mapped[ShardState] = mapped_column(choice(ShardState))
    start: Mapped[int]
    stop: Mapped[int]
    position: Mapped[int]
    claimed_at_position: Mapped[int] = mapped_column(default=0)
    marked: Mapped[int | None]
    attempts: Mapped[int] = mapped_column(default=0)
    sent_at: Mapped[Instant | None]
    lease_owner: Mapped[int | None] = mapped_column(ForeignKey("worker.id"))
    lease_token: Mapped[ShortText | None]
    lease_expires_at: Mapped[Instant | None]
