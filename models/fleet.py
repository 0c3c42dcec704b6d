"""Hosts, their workers, and leases on duties that one process at a time performs."""

from __future__ import annotations

from typing import Any

from sqlalchemy import JSON, ForeignKey, Text
from sqlalchemy.orm import Mapped, mapped_column

from cagematch.models.base import Base, Id, Instant, Seconds, ShortText


class Host(Base):
    """A machine as a worker detected it.

    ``facts``: processor, cores, memory, kernel, governor, turbo and so on. ``digest`` is a hash that identifies them.
    """

    __tablename__ = "host"

    id: Mapped[Id]
    name: Mapped[str] = mapped_column(Text)
    digest: Mapped[ShortText] = mapped_column(unique=True)
    facts: Mapped[dict[str, Any]] = mapped_column(JSON)


class Worker(Base):
    """A worker process.

    Attributes
    ----------
    versions
        The version of each installed backend.
    reference_s
        The duration of a fixed computation at the start of the worker, to detect hosts that differ or drift.
    stopped_at
        NULL while the worker runs, and after a crash.
    """

    __tablename__ = "worker"

    id: Mapped[Id]
    host_id: Mapped[int] = mapped_column(ForeignKey("host.id"))
    pid: Mapped[int]
    program: Mapped[ShortText]
    queues: Mapped[list[str]] = mapped_column(JSON)
    versions: Mapped[dict[str, str]] = mapped_column(JSON)
    slots: Mapped[int]
    schema: Mapped[ShortText]
    reference_s: Mapped[Seconds]
    started_at: Mapped[Instant]
    heartbeat_at: Mapped[Instant]
    stopped_at: Mapped[Instant | None]


class DutyLease(Base):
    """A lease on a duty that one process at a time performs; ``note`` describes the process."""

    __tablename__ = "lease"

    duty: Mapped[ShortText] = mapped_column(primary_key=True)
    owner: Mapped[ShortText]
    expires_at: Mapped[Instant]
    note: Mapped[str] = mapped_column(Text, default="")
