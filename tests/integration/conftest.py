"""Databases for tests: each test runs on SQLite and on PostgreSQL."""

from __future__ import annotations

from collections.abc import Iterator
from pathlib import Path

import pytest
from sqlalchemy import Engine, text

from cagematch.models import Base
from cagematch.models.engine import open_engine, writing
from cagematch.models.schema import HEAD, VERSION_TABLE, upgrade


@pytest.fixture(params=["sqlite", "postgresql"])
def bare(request: pytest.FixtureRequest, tmp_path: Path) -> Iterator[Engine]:
    """An empty database."""
    if request.param == "sqlite":
        url = f"sqlite:///{tmp_path / 'scheduler.db'}"
    else:
        url = request.getfixturevalue("postgres_url")
    engine = open_engine(url)
    yield engine
    engine.dispose()


@pytest.fixture
def migrated(bare: Engine) -> Engine:
    """A database with the tables that the migrations create."""
    upgrade(bare)
    return bare


@pytest.fixture
def engine(bare: Engine) -> Engine:
    """A database with the tables that the models describe: the same tables in a tenth of the time."""
    if bare.dialect.name == "sqlite":
        with bare.connect() as connection:
            connection.connection.execute("PRAGMA journal_mode=WAL")
    with writing(bare) as connection:
        Base.metadata.create_all(connection, checkfirst=False)
        connection.execute(text(f"CREATE TABLE {VERSION_TABLE} (version_num VARCHAR(32) NOT NULL)"))
        connection.execute(text(f"INSERT INTO {VERSION_TABLE} VALUES ('{HEAD}')"))  # noqa: S608 - our own names
    return bare
