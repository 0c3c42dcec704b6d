"""Alembic's entry: runs the migrations on the engine that `cagematch.models.schema` hands over."""

from __future__ import annotations

import sqlite3
import time
from collections.abc import Iterator
from contextlib import contextmanager
from typing import Any

from alembic import context
from sqlalchemy import Connection, Engine

from cagematch.models import Base

LOCK = 723480615  # any number, the same in every upgrade
SWITCH_S = 30.0


def run(engine: Engine, version_table: str) -> None:
    """Run all in one transaction, so that a migration that fails leaves nothing behind."""
    with engine.connect() as connection, _prepared(connection), connection.begin():
        if engine.dialect.name == "postgresql":  # two upgrades at once: the second waits, then finds it done
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
                raise RuntimeError(f"the migration left broken references: {broken[:5]}")


@contextmanager
def _prepared(connection: Connection) -> Iterator[None]:
    """Give a SQLite file the journal that lets one read while another writes; no foreign keys meanwhile.

    A migration that makes a table anew would otherwise delete the rows of others that refer to it.
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
    """Switch the journal. Of two that do so at once SQLite refuses one, however long it is told to wait for locks."""
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
