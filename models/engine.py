"""Engines, and the two ways to use one: reading and writing."""

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

BUSY_S = 30
CONNECT_S = 5
# A connection whose other end says nothing any more, as its network was cut, is given up after some ten seconds.
SILENCE = {"keepalives_idle": 5, "keepalives_interval": 2, "keepalives_count": 3, "tcp_user_timeout": 10_000}
# The server gives up on us as soon, and on a worker that was suspended in the middle of a transaction, whose locks
# would stop the others.
SETTINGS = {f"tcp_{name}": value for name, value in SILENCE.items() if name.startswith("keepalives")}
SETTINGS["tcp_user_timeout"] = SILENCE["tcp_user_timeout"]
UNATTENDED = {"idle_in_transaction_session_timeout": 20_000}
# What is raised where a database is away, going away or not itself: to try again later may help.
AWAY = (OperationalError, InterfaceError, InternalError, NoConnectionFree)
# A slot holds a connection for milliseconds at a time, so that far fewer than there are slots will do; a server
# has 100 for all its clients.
POOL = {"pool_size": 4, "max_overflow": 12, "pool_timeout": 60}
READS_ONLY = "cagematch_reads_only"


def open_engine(url: str, *, reads_only: bool = False, unattended: bool = False) -> Engine:
    """Make an engine. One a process: an engine carried over a fork mixes up its connections.

    ``reads_only``: for who only looks. A SQLite file that is not there is not made, and one that may not be written
    can be read. ``unattended``: for a worker, which is never idle in a transaction unless it is suspended.
    """
    parsed = _parsed(url)
    if parsed.get_backend_name() == "sqlite":
        options: dict[str, Any] = {}
        if reads_only and not _there(parsed):
            parsed, options = parsed.set(database=":memory:"), {"poolclass": StaticPool}
        elif reads_only and not writable(parsed):
            parsed = _as_it_is(parsed)
        engine = create_engine(parsed, connect_args={"timeout": BUSY_S, "check_same_thread": False}, **options)
        event.listen(engine, "connect", _prepare_sqlite)
        event.listen(engine, "begin", _begin_sqlite)
        return engine
    told = {"connect_timeout": CONNECT_S, "application_name": "cagematch"} | SILENCE
    arguments = {name: value for name, value in told.items() if name not in parsed.query}
    engine = create_engine(parsed, pool_pre_ping=True, connect_args=arguments, **POOL)
    event.listen(engine, "connect", _prepare_postgresql(SETTINGS | (UNATTENDED if unattended else {})))
    return engine


@contextmanager
def reading(engine: Engine) -> Iterator[Connection]:
    """A transaction that only reads, which the database sees to; on SQLite it does not keep writers out."""
    options = {"postgresql_readonly": True} if engine.dialect.name == "postgresql" else {READS_ONLY: True}
    with engine.connect() as connection:
        connection.execution_options(**options)
        with connection.begin():
            yield connection


@contextmanager
def writing(engine: Engine) -> Iterator[Connection]:
    """A transaction that writes; on SQLite it holds the write lock from its first moment."""
    with engine.begin() as connection:
        yield connection


def file_of(url: URL | str) -> Path | None:
    """The file of a SQLite database; None of a server's, and of one that is not a plain file."""
    parsed = url if isinstance(url, URL) else _parsed(url)
    name = parsed.database or ""
    plain = parsed.get_backend_name() == "sqlite" and not name.startswith((":", "file:"))
    return Path(name) if plain else None


def writable(url: URL | str) -> bool:
    """Whether a database's file, and the folder where SQLite keeps a journal beside it, may be written."""
    path = file_of(url)
    if path is None:
        return True
    return os.access(path.parent, os.W_OK | os.X_OK) and (os.access(path, os.W_OK) or not os.access(path, os.F_OK))


def _there(parsed: URL) -> bool:
    path = file_of(parsed)
    try:
        return path is None or path.exists()
    except PermissionError:
        return True  # who may not look is told so when it is opened


def _as_it_is(parsed: URL) -> URL:
    """The address of a file that SQLite reads without a journal: it would have to make one, and may not.

    Not where a journal is: somebody writes, or was killed, and without it the file is half of the truth.
    """
    path = file_of(parsed)
    if path is None or path.with_name(path.name + "-wal").exists():
        return parsed
    return parsed.set(database=f"file:{quote(str(path))}", query={"immutable": "1", "uri": "true"})


def _parsed(url: str) -> URL:
    try:
        parsed = make_url(url)
    except (ArgumentError, ValueError):
        raise ServiceError(
            "the database URL cannot be read; expected postgresql://user@host/name or sqlite:///file"
        ) from None
    name = parsed.get_backend_name()
    if name in ("postgresql", "postgres"):
        return parsed.set(drivername="postgresql+psycopg")
    if name != "sqlite":
        raise ServiceError(f"the database is {name}; Cagematch works with PostgreSQL and SQLite")
    if parsed.database in (None, "", ":memory:"):
        raise ServiceError("a SQLite database needs a file, as each thread opens it anew; expected sqlite:///file")
    return parsed


def _prepare_postgresql(settings: dict[str, int]) -> Callable[[Any, Any], None]:
    """Set what is the session's. Not as options of the connection, which poolers in front of a server refuse."""
    statement = "; ".join(f"SET {name} = {value}" for name, value in settings.items())

    def prepare(connection: Any, _: Any) -> None:
        connection.execute(statement)
        connection.commit()

    return prepare


def _prepare_sqlite(connection: Any, _: Any) -> None:
    """Set what is the connection's; what is the file's (its journal) is set when we make the tables."""
    connection.isolation_level = None  # the driver's own transactions lose updates; ours begin below
    for pragma in ("foreign_keys=ON", "synchronous=NORMAL", "cache_size=-32000"):
        connection.execute(f"PRAGMA {pragma}")


def _begin_sqlite(connection: Connection) -> None:
    reads_only = bool(connection.get_execution_options().get(READS_ONLY))
    driver: Any = connection.connection
    driver.execute(f"PRAGMA query_only={int(reads_only)}")
    # Taken at its first write only, the lock may be refused to a transaction that has read what is now old.
    driver.execute("BEGIN" if reads_only else "BEGIN IMMEDIATE")


def insert_new(connection: Connection, table: Any, rows: list[dict[str, Any]]) -> None:
    """Insert rows, passing over those that a unique constraint says are there already."""
    if not rows:
        return
    dialect = postgresql if connection.dialect.name == "postgresql" else sqlite
    connection.execute(dialect.insert(table).on_conflict_do_nothing(), rows)
