"""Batches, their configurations, and their shards."""

from __future__ import annotations

from enum import StrEnum
from typing import Any

from sqlalchemy import JSON, CheckConstraint, ForeignKey, Index, Text, false
from sqlalchemy.orm import Mapped, mapped_column

from cagematch.models.base import Base, Id, Instant, Seconds, ShortText, choice


class BatchState(StrEnum):
    """The state of a batch.

    ``loading``: its rows are being created. ``active``: it has unfinished shards. ``done``: all of its runs have
    finished. ``cancelled``: a user has cancelled it.
    """

    LOADING = "loading"
    ACTIVE = "active"
    DONE = "done"
    CANCELLED = "cancelled"


class ShardState(StrEnum):
    """The state of a shard.

    ``waiting``: not sent. ``queued``: its message is in a queue. ``leased``: a worker processes it. ``done``: all of
    its runs have finished. ``cancelled``: its batch was cancelled.
    """

    WAITING = "waiting"
    QUEUED = "queued"
    LEASED = "leased"
    DONE = "done"
    CANCELLED = "cancelled"


class StoredConfiguration(Base):
    """A backend with its parameters: ``text`` as users type it, ``expanded`` with its preset replaced."""

    __tablename__ = "configuration"

    id: Mapped[Id]
    text: Mapped[str] = mapped_column(Text, unique=True)
    expanded: Mapped[str] = mapped_column(Text)
    backend: Mapped[ShortText]


class Batch(Base):
    """The runs of one submit: puzzles × configurations × repeats under one task and one set of limits.

    Run k of a configuration, 0 ≤ k < puzzles × repeats, is the puzzle at position k mod ``puzzles`` of the shuffled
    order, repeat k div ``puzzles``.

    Attributes
    ----------
    task, bound
        The task, and for ``count`` the number of solutions at which counting ends.
    timeout_s, memory_mib
        The limits of each run.
    puzzles
        The number of distinct puzzles.
    taken
        The maximum number of puzzles from each set; NULL without a maximum.
    permuted
        Whether each repeat is solved under a different symmetry of its puzzle.
    priority
        Batches with a higher priority run first.
    again
        The number of the batch that this one repeats.
    versions
        The versions of Cagematch and Python that created the batch.
    """

    __tablename__ = "batch"
    __table_args__ = ({"sqlite_autoincrement": True},)  # the number of a pruned batch is not reused

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
    """A puzzle set of a batch; ``position`` is its place in the user's order."""

    __tablename__ = "batch_set"

    batch_id: Mapped[int] = mapped_column(ForeignKey("batch.id", ondelete="CASCADE"), primary_key=True)
    set_id: Mapped[int] = mapped_column(ForeignKey("puzzle_set.id"), primary_key=True)
    position: Mapped[int]


class BatchConfiguration(Base):
    """A configuration of a batch; ``position`` is its place in the user's order."""

    __tablename__ = "batch_configuration"

    batch_id: Mapped[int] = mapped_column(ForeignKey("batch.id", ondelete="CASCADE"), primary_key=True)
    configuration_id: Mapped[int] = mapped_column(ForeignKey("configuration.id"), primary_key=True)
    position: Mapped[int]


class BatchPuzzle(Base):
    """A distinct puzzle of a batch; ``position`` is its place in the order shuffled by the batch's seed."""

    __tablename__ = "batch_puzzle"

    batch_id: Mapped[int] = mapped_column(ForeignKey("batch.id", ondelete="CASCADE"), primary_key=True)
    position: Mapped[int] = mapped_column(primary_key=True)
    puzzle_id: Mapped[int] = mapped_column(ForeignKey("puzzle.id"), index=True)


class Shard(Base):
    """A range of runs of one configuration of a batch: one message and one lease at a time.

    Attributes
    ----------
    start, stop
        The range of runs; ``stop`` is exclusive.
    position
        The next run to execute.
    claimed_at_position
        The position when the shard was last claimed.
    marked
        The run that a suspect shard has started, so that a run that kills its workers can be identified.
    attempts
        The number of leases lost since the position last changed.
    sent_at
        When its message was last sent.
    lease_owner, lease_token, lease_expires_at
        The worker that holds the lease, a token of this claim, and the end of the lease.
    """

    __tablename__ = "shard"
    __table_args__ = (
        CheckConstraint("start <= position AND position <= stop", name="position"),
        # Finds a batch's next shards of a queue in their order; its prefix finds a batch's unfinished shards.
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
