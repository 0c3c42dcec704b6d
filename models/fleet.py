"""Hosts, the workers on them, and the leases that they hold on duties of which there is one."""

from __future__ import annotations

from typing import Any

from sqlalchemy import JSON, ForeignKey, Text
from sqlalchemy.orm import Mapped, mapped_column

from cagematch.models.base import Base, Id, Instant, Seconds, ShortText


class Host(Base):
    """A machine as a worker found it. ``facts``: processor, cores, memory, kernel, governor, turbo."""

    __tablename__ = "host"

    id: Mapped[Id]
    name: Mapped[str] = mapped_column(Text)
    digest: Mapped[ShortText] = mapped_column(unique=True)
    facts: Mapped[dict[str, Any]] = mapped_column(JSON)


class Worker(Base):
    """A worker process. ``versions``: backend → version of those it can run.

    ``reference_s``: what a fixed computation took when it started, to show hosts that differ or drift.
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
    """A duty that one process at a time has; ``note`` says who."""

    __tablename__ = "lease"

    duty: Mapped[ShortText] = mapped_column(primary_key=True)
    owner: Mapped[ShortText]
    expires_at: Mapped[Instant]
    note: Mapped[str] = mapped_column(Text, default="")
