"""Engines, and the two ways to use one: reading and writing."""

from __future__ import annotations

from collections.abc import Iterator
from contextlib import contextmanager
from typing import Any

from sqlalchemy import Connection, Engine, create_engine, event, make_url
from sqlalchemy.dialects import postgresql, sqlite
from sqlalchemy.engine import URL
from sqlalchemy.exc import ArgumentError

from problems.errors import ServiceError

BUSY_S = 30
READS_ONLY = "cagematch_reads_only"


def open_engine(url: str) -> Engine:
    """Make an engine. One a process: an engine carried over a fork mixes up its connections."""
    parsed = _parsed(url)
    if parsed.get_backend_name() == "sqlite":
        engine = create_engine(parsed, connect_args={"timeout": BUSY_S, "check_same_thread": False})
        event.listen(engine, "connect", _prepare_sqlite)
        event.listen(engine, "begin", _begin_sqlite)
        return engine
    return create_engine(parsed, pool_pre_ping=True, pool_size=4, max_overflow=40)


@contextmanager
def reading(engine: Engine) -> Iterator[Connection]:
    """A transaction that only reads; on SQLite it does not keep writers out."""
    with engine.connect().execution_options(**{READS_ONLY: True}) as connection, connection.begin():
        yield connection


@contextmanager
def writing(engine: Engine) -> Iterator[Connection]:
    """A transaction that writes; on SQLite it holds the write lock from its first moment."""
    with engine.begin() as connection:
        yield connection


def _parsed(url: str) -> URL:
    try:
        parsed = make_url(url)
    except ArgumentError:
        raise ServiceError(
            "the database URL cannot be read; expected postgresql://user@host/name or sqlite:///file"
        ) from None
    name = parsed.get_backend_name()
    if name not in ("sqlite", "postgresql"):
        raise ServiceError(f"the database is {name}; Cagematch works with PostgreSQL and SQLite")
    return parsed.set(drivername="postgresql+psycopg") if name == "postgresql" else parsed


def _prepare_sqlite(connection: Any, _: Any) -> None:
    connection.isolation_level = None  # the driver's own transactions lose updates; ours begin below
    for pragma in ("journal_mode=WAL", "foreign_keys=ON", "synchronous=NORMAL", "cache_size=-32000"):
        connection.execute(f"PRAGMA {pragma}")


def _begin_sqlite(connection: Connection) -> None:
    reads_only = connection.get_execution_options().get(READS_ONLY)
    connection.exec_driver_sql("BEGIN" if reads_only else "BEGIN IMMEDIATE")


def insert_new(connection: Connection, table: Any, rows: list[dict[str, Any]]) -> None:
    """Insert rows, passing over those that a unique constraint says are there already."""
    if not rows:
        return
    dialect = postgresql if connection.dialect.name == "postgresql" else sqlite
    connection.execute(dialect.insert(table).on_conflict_do_nothing(), rows)
