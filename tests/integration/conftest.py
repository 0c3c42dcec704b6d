"""Databases to work on: the same test on SQLite and on PostgreSQL."""

from __future__ import annotations

from collections.abc import Iterator
from pathlib import Path

import pytest
from sqlalchemy import Engine

from models.engine import open_engine
from models.schema import upgrade


@pytest.fixture(params=["sqlite", "postgresql"])
def bare(request: pytest.FixtureRequest, tmp_path: Path) -> Iterator[Engine]:
    """A database with nothing in it."""
    if request.param == "sqlite":
        url = f"sqlite:///{tmp_path / 'scheduler.db'}"
    else:
        url = request.getfixturevalue("postgres_url")
    engine = open_engine(url)
    yield engine
    engine.dispose()


@pytest.fixture
def engine(bare: Engine) -> Engine:
    """A database with our tables."""
    upgrade(bare)
    return bare
