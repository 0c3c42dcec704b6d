"""Runs: what came of one puzzle under one configuration, once."""

from __future__ import annotations

from typing import Any

from sqlalchemy import JSON, BigInteger, ForeignKey, Index, Text, UniqueConstraint
from sqlalchemy.orm import Mapped, mapped_column

from models.base import Base, BigId, Id, Instant, Seconds, Told, choice
from problems.outcome import Answer, Stop


class Size(Base):
    """How big a problem is in a backend: JSON counts by type and role, and their totals. Shared by runs."""

    __tablename__ = "size"

    id: Mapped[Id]
    text: Mapped[str] = mapped_column(Text, unique=True)
    variables: Mapped[int]
    constraints: Mapped[int]


class Shift(Base):
    """What a slot did with a shard in one go, and what its host was like meanwhile: see `workers.health.Strain`.

    NULL where the kernel does not tell, or the worker was lost. ``reference_s``: its runs', at the lower quartile.
    """

    __tablename__ = "shift"

    id: Mapped[Id]
    batch_id: Mapped[int] = mapped_column(ForeignKey("batch.id", ondelete="CASCADE"), index=True)
    worker_id: Mapped[int] = mapped_column(ForeignKey("worker.id"), index=True)
    began_at: Mapped[Instant]
    seconds: Mapped[Seconds | None]
    steal: Mapped[Seconds | None]
    pressure: Mapped[Seconds | None]
    load: Mapped[Seconds | None]
    oversubscribed: Mapped[bool | None]
    reference_s: Mapped[Seconds | None]


class Run(Base):
    """One measured solve. Times are seconds, memory MiB.

    ``holds``: whether the solution obeyed every constraint when checked; NULL where there was none.
    ``solution`` is in the kind's compact form, and so is ``second``, one that differs from it. ``count``, ``complete``
    and ``changes``: see `problems.outcome.Outcome`. ``verified``: how many different solutions of the puzzle were found
    to obey every constraint. ``cores`` are those it was pinned to, ``threads`` those it wanted. ``reference_s``: what
    the reference would have taken there right before the run or right after it, the slower one (`workers.speed`); NULL
    where the run was killed, or raised what it may not. ``shift_id`` names a `Shift` without a foreign key, which
    SQLite could not be given but by writing a million runs anew.
    """

    __tablename__ = "run"
    __table_args__ = (
        UniqueConstraint("batch_id", "configuration_id", "puzzle_id", "repeat"),
        Index("ix_run_puzzle_id_verified", "puzzle_id", "verified"),
    )

    id: Mapped[BigId]
    batch_id: Mapped[int] = mapped_column(ForeignKey("batch.id", ondelete="CASCADE"))
    configuration_id: Mapped[int] = mapped_column(ForeignKey("configuration.id"))
    puzzle_id: Mapped[int] = mapped_column(ForeignKey("puzzle.id"))
    repeat: Mapped[int]
    seed: Mapped[int]
    answer: Mapped[Answer] = mapped_column(choice(Answer))
    stop: Mapped[Stop] = mapped_column(choice(Stop))
    holds: Mapped[bool | None]
    solution: Mapped[str | None] = mapped_column(Text)
    second: Mapped[str | None] = mapped_column(Text)
    count: Mapped[int | None] = mapped_column(BigInteger)
    complete: Mapped[bool | None]
    changes: Mapped[int | None]
    verified: Mapped[int | None]
    build_s: Mapped[Seconds | None]
    solve_s: Mapped[Seconds | None]
    wall_s: Mapped[Seconds]
    cpu_s: Mapped[Seconds | None]
    baseline_mib: Mapped[Seconds | None]
    peak_mib: Mapped[Seconds | None]
    size_id: Mapped[int | None] = mapped_column(ForeignKey("size.id"))
    counters: Mapped[dict[str, Any] | None] = mapped_column(JSON(none_as_null=True))
    signal: Mapped[int | None]
    detail: Mapped[str] = mapped_column(Told, default="")
    threads: Mapped[int]
    cores: Mapped[str] = mapped_column(Text)
    worker_id: Mapped[int] = mapped_column(ForeignKey("worker.id"))
    finished_at: Mapped[Instant]
    shift_id: Mapped[int | None]
    reference_s: Mapped[Seconds | None]
