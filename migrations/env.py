"""Alembic's entry point: runs the migrations on the engine that `cagematch.models.schema` passes."""

from __future__ import annotations

import sqlite3
import time
from collections.abc import Iterator
from contextlib import contextmanager
from typing import Any

from alembic import context
from sqlalchemy import Connection, Engine

from cagematch.models import Base

LOCK = 723480615  # the key of the advisory lock: arbitrary, but the same in every version
SWITCH_S = 30.0  # for which the switch to write-ahead logging is retried


def run(engine: Engine, version_table: str) -> None:
    """Run all migrations in one transaction, so that a failed migration changes nothing.

    Raises
    ------
    RuntimeError
        A migration on SQLite left rows with broken foreign keys.
    sqlalchemy.exc.DatabaseError
        A statement failed.
    """
    with engine.connect() as connection, _prepared(connection), connection.begin():
        if engine.dialect.name == "postgresql":  # of two simultaneous upgrades, the second waits and has nothing to do
            connection.exec_driver_sql(f"SELECT pg_advisory_xact_lock({LOCK})")
        context.configure(
            connection=connection,
            target_metadata=Base.metadata,
            version_table=version_table,
            render_as_batch=engine.dialect.name == "sqlite",
        )
        context.run_migrations()
        if engine.dialect.name == "sqlite":
            broken = connection.exec_driver_sql("PRAGMA foreign_key_check").fetchall()
            if broken:
                raise RuntimeError(f"the migration left broken references, expected none: {broken[:5]}")


@contextmanager
def _prepared(connection: Connection) -> Iterator[None]:
    """Enable write-ahead logging in a SQLite file, and disable foreign keys during the migrations.

    With foreign keys, a migration that recreates a table would delete the rows that refer to it.
    """
    if connection.dialect.name != "sqlite":
        yield
        return
    driver: Any = connection.connection
    _write_ahead(driver)
    driver.execute("PRAGMA foreign_keys=OFF")
    try:
        yield
    finally:
        driver.execute("PRAGMA foreign_keys=ON")


def _write_ahead(driver: Any) -> None:
    """Switch to write-ahead logging. SQLite rejects one of two simultaneous switches despite its busy timeout."""
    deadline = time.monotonic() + SWITCH_S
    while True:
        try:
            driver.execute("PRAGMA journal_mode=WAL")
        except sqlite3.OperationalError as error:
            if "locked" not in str(error) or time.monotonic() > deadline:
                raise
            time.sleep(0.02)
        else:
            return


run(context.config.attributes["engine"], context.config.attributes["version_table"])
