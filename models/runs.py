"""Runs, the sizes of their models, and the shifts in which they were executed."""

from __future__ import annotations

from typing import Any

from sqlalchemy import JSON, BigInteger, ForeignKey, Index, Text, UniqueConstraint
from sqlalchemy.orm import Mapped, mapped_column

from cagematch.models.base import (
    Base,
    BigId,
    Id,
    Instant,
    LimitedText,
    LoadAverage,
    Mebibytes,
    Seconds,
    Share,
    choice,
)
from cagematch.problems.outcome import Answer, Stop


class StoredSize(Base):
    """The size of a problem in a backend, shared by runs: counts by type and role as JSON, and their totals."""

    __tablename__ = "size"

    id: Mapped[Id]
    text: Mapped[str] = mapped_column(Text, unique=True)
    variables: Mapped[int]
    constraints: Mapped[int]


class Shift(Base):
    """A slot's work on a shard, 30 s at most, and the conditions of the host during it.

    Values are NULL if the kernel does not provide them or the worker was lost. See `workers.machine.counters`.

    Attributes
    ----------
    seconds
        The duration of the shift.
    steal
        The share of the cores' time that the hypervisor gave to other virtual machines.
    pressure
        The share of the shift in which at least one task waited for a core.
    load, oversubscribed
        The load average at the end, and whether there were more runnable threads than cores.
    reference_s
        The lower quartile of the core speed probes of its runs.
    """

    __tablename__ = "shift"

    id: Mapped[Id]
    batch_id: Mapped[int] = mapped_column(ForeignKey("batch.id", ondelete="CASCADE"), index=True)
    worker_id: Mapped[int] = mapped_column(ForeignKey("worker.id"), index=True)
    began_at: Mapped[Instant]
    seconds: Mapped[Seconds | None]
    steal: Mapped[Share | None]
    pressure: Mapped[Share | None]
    load: Mapped[LoadAverage | None]
    oversubscribed: Mapped[bool | None]
    reference_s: Mapped[Seconds | None]


class Run(Base):
    """One measured solve: one puzzle, one configuration, one repeat. Times are in seconds, memory in MiB.

    Attributes
    ----------
    holds
        Whether the solution obeys every constraint; NULL without a solution.
    solution, second
        In the kind's compact form. ``second`` is a different solution, where one was found.
    count, complete, changes
        See `problems.outcome.Outcome`.
    verified
        The number of different solutions of the puzzle that were found to obey every constraint.
    threads, cores
        The number of threads the configuration uses, and the cores that the run was pinned to.
    reference_s
        The core speed probe next to the run, the slower of the two (`workers.machine.speed`).
        NULL where the run was killed or the backend raised an exception.
    shift_id
        Names a `Shift` without a foreign key: SQLite could only add one by rewriting every run.
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
    baseline_mib: Mapped[Mebibytes | None]
    peak_mib: Mapped[Mebibytes | None]
    size_id: Mapped[int | None] = mapped_column(ForeignKey("size.id"))
    counters: Mapped[dict[str, Any] | None] = mapped_column(JSON(none_as_null=True))
    signal: Mapped[int | None]
    detail: Mapped[str] = mapped_column(LimitedText, default="")
    threads: Mapped[int]
    cores: Mapped[str] = mapped_column(Text)
    worker_id: Mapped[int] = mapped_column(ForeignKey("worker.id"))
    finished_at: Mapped[Instant]
    shift_id: Mapped[int | None]
    reference_s: Mapped[Seconds | None]
