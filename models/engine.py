"""Engines, and their two kinds of transaction: reading and writing."""

from __future__ import annotations

import os
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import Any
from urllib.parse import quote

from sqlalchemy import Connection, Engine, create_engine, event, make_url
from sqlalchemy.dialects import postgresql, sqlite
from sqlalchemy.engine import URL
from sqlalchemy.exc import ArgumentError, InterfaceError, InternalError, OperationalError
from sqlalchemy.exc import TimeoutError as NoConnectionFree
from sqlalchemy.pool import StaticPool

from cagematch.problems.errors import ServiceError

BUSY_S = 30  # for which SQLite waits for a lock
CONNECT_S = 5
# Detect a dead connection, such as one through a broken network, after about ten seconds (units: s, s, 1, ms).
KEEPALIVE = {"keepalives_idle": 5, "keepalives_interval": 2, "keepalives_count": 3, "tcp_user_timeout": 10_000}
# The same on the server's side, as session settings.
SETTINGS = {f"tcp_{name}": value for name, value in KEEPALIVE.items() if name.startswith("keepalives")}
SETTINGS["tcp_user_timeout"] = KEEPALIVE["tcp_user_timeout"]
# A worker that is suspended within a transaction would block other workers with its locks (ms).
UNATTENDED = {"idle_in_transaction_session_timeout": 20_000}
# The exceptions of an outage: the database is unreachable, shutting down or damaged. A later retry may succeed.
OUTAGE_ERRORS = (OperationalError, InterfaceError, InternalError, NoConnectionFree)
# A slot holds a connection for milliseconds only, so a worker needs far fewer connections than it has slots.
# PostgreSQL accepts 100 by default, from all clients together. The timeout is in seconds.
POOL = {"pool_size": 4, "max_overflow": 12, "pool_timeout": 60}
READS_ONLY = "cagematch_reads_only"


def open_engine(url: str, *, reads_only: bool = False, unattended: bool = False) -> Engine:
    """Create an engine. Call it once per process: connections do not survive a fork.

    Parameters
    ----------
    url
        ``postgresql://user@host/name`` or ``sqlite:///file``.
    reads_only
        The caller never writes. A missing SQLite file is not created, and a read-only file can be opened.
    unattended
        The caller is a worker, which is idle in a transaction only if it is suspended. PostgreSQL then ends the
        session after 20 s.

    Raises
    ------
    ServiceError
        The URL is invalid or names an unsupported database.
    """
    parsed = _parsed(url)
    if parsed.get_backend_name() == "sqlite":
        options: dict[str, Any] = {}
        if reads_only and not _exists(parsed):
            parsed, options = parsed.set(database=":memory:"), {"poolclass": StaticPool}
        elif reads_only and not writable(parsed):
            parsed = _immutable(parsed)
        engine = create_engine(parsed, connect_args={"timeout": BUSY_S, "check_same_thread": False}, **options)
        event.listen(engine, "connect", _prepare_sqlite)
        event.listen(engine, "begin", _begin_sqlite)
        return engine
    defaults = {"connect_timeout": CONNECT_S, "application_name": "cagematch"} | KEEPALIVE
    arguments = {name: value for name, value in defaults.items() if name not in parsed.query}
    engine = create_engine(parsed, pool_pre_ping=True, connect_args=arguments, **POOL)
    event.listen(engine, "connect", _prepare_postgresql(SETTINGS | (UNATTENDED if unattended else {})))
    return engine


@contextmanager
def reading(engine: Engine) -> Iterator[Connection]:
    """Open a read-only transaction, which the database enforces. On SQLite it does not block writers."""
    options = {"postgresql_readonly": True} if engine.dialect.name == "postgresql" else {READS_ONLY: True}
    with engine.connect() as connection:
        connection.execution_options(**options)
        with connection.begin():
            yield connection


@contextmanager
def writing(engine: Engine) -> Iterator[Connection]:
    """Open a transaction that writes and commits at the end. On SQLite it takes the write lock at its start."""
    with engine.begin() as connection:
        yield connection


def file_of(url: URL | str) -> Path | None:
    """Return the file of a SQLite database; None for a server, and for SQLite without a plain file."""
    parsed = url if isinstance(url, URL) else _parsed(url)
    name = parsed.database or ""
    plain = parsed.get_backend_name() == "sqlite" and not name.startswith((":", "file:"))
    return Path(name) if plain else None


def writable(url: URL | str) -> bool:
    """Return whether this process may write the database's file, and its folder, where SQLite creates a journal."""
    path = file_of(url)
    if path is None:
        return True
    return os.access(path.parent, os.W_OK | os.X_OK) and (os.access(path, os.W_OK) or not os.access(path, os.F_OK))


def _exists(parsed: URL) -> bool:
    path = file_of(parsed)
    try:
        return path is None or path.exists()
    except PermissionError:
        return True  # opening the file reports the missing permission


def _immutable(parsed: URL) -> URL:
    """Return a URL with which SQLite reads a file without creating a journal, which it is not allowed to do.

    A file with a journal is opened normally: a writer is active or was killed, and the file alone is incomplete.
    """
    path = file_of(parsed)
    if path is None or path.with_name(path.name + "-wal").exists():
        return parsed
    return parsed.set(database=f"file:{quote(str(path))}", query={"immutable": "1", "uri": "true"})


def _parsed(url: str) -> URL:
    try:
        parsed = make_url(url)
    except (ArgumentError, ValueError):
        # The URL is not shown: it may contain a password.
        raise ServiceError(
            "invalid database URL, expected postgresql://user@host/name or sqlite:///file; check CAGEMATCH_DATABASE_URL"
        ) from None
    name = parsed.get_backend_name()
    if name in ("postgresql", "postgres"):
        return parsed.set(drivername="postgresql+psycopg")
    if name != "sqlite":
        raise ServiceError(f"found a {name} database, expected PostgreSQL or SQLite; check CAGEMATCH_DATABASE_URL")
    if parsed.database in (None, "", ":memory:"):
        raise ServiceError(
            "found a SQLite database without a file, expected sqlite:///file, as each thread opens the database"
        )
    return parsed


def _prepare_postgresql(settings: dict[str, int]) -> Callable[[Any, Any], None]:
    """Return a listener that applies session settings. Connection poolers reject them as connection options."""
    statement = "; ".join(f"SET {name} = {value}" for name, value in settings.items())

    def prepare(connection: Any, _: Any) -> None:
        connection.execute(statement)
        connection.commit()

    return prepare


def _prepare_sqlite(connection: Any, _: Any) -> None:
    """Apply the settings of a connection. Those of the file (its journal mode) are set by the migrations."""
    connection.isolation_level = None  # the driver's own transactions lose updates; `_begin_sqlite` replaces them
    for pragma in ("foreign_keys=ON", "synchronous=NORMAL", "cache_size=-32000"):
        connection.execute(f"PRAGMA {pragma}")


def _begin_sqlite(connection: Connection) -> None:
    reads_only = bool(connection.get_execution_options().get(READS_ONLY))
    driver: Any = connection.connection
    driver.execute(f"PRAGMA query_only={int(reads_only)}")
    # A lock taken only at the first write may be refused, because the transaction has read outdated data.
    driver.execute("BEGIN" if reads_only else "BEGIN IMMEDIATE")


def insert_new(connection: Connection, table: Any, rows: list[dict[str, Any]]) -> None:
    """Insert rows, and skip those that a unique constraint rejects as duplicates."""
    if not rows:
        return
    dialect = postgresql if connection.dialect.name == "postgresql" else sqlite
    connection.execute(dialect.insert(table).on_conflict_do_nothing(), rows)
