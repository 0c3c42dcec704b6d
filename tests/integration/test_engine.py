"""Transactions, clocks and texts behave the same on SQLite and PostgreSQL."""

from __future__ import annotations

import sqlite3
import threading
import time
from collections.abc import Callable
from pathlib import Path

import pytest
from sqlalchemy import Engine, column, insert, select, table, text, update
from sqlalchemy.exc import DBAPIError

from cagematch.models import DutyLease, PuzzleSet, SetEntry, StoredPuzzle
from cagematch.models.base import now
from cagematch.models.engine import insert_new, open_engine, reading, writing
from cagematch.models.schema import HEAD, VERSION_TABLE, SchemaState, require_current, schema_state
from cagematch.problems.errors import SchemaError, ServiceError

LEASE = {"duty": "counting", "owner": "0", "note": ""}


def at_once(count: int, work: Callable[[int], None]) -> None:
    """Call ``work(0)``, ``work(1)``, … in threads that start together; raise the first exception of a thread."""
    start, failures = threading.Barrier(count), []

    def run(number: int) -> None:
        start.wait()
        try:
            work(number)
        except BaseException as error:  # noqa: BLE001 - raised below
            failures.append(error)

    threads = [threading.Thread(target=run, args=(number,)) for number in range(count)]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join()
    if failures:
        raise failures[0]


def test_concurrent_writers_lose_no_update(engine: Engine):
    """Each writer reads, adds one and writes; with the driver's transactions, SQLite loses half of the updates."""
    with writing(engine) as connection:
        connection.execute(insert(DutyLease).values(expires_at=0.0, **LEASE))

    def count(_: int) -> None:
        for _ in range(50):
            with writing(engine) as connection:
                seen = connection.scalar(select(DutyLease.owner).with_for_update())
                connection.execute(update(DutyLease).values(owner=str(int(seen) + 1)))

    at_once(8, count)

    with reading(engine) as connection:
        assert connection.scalar(select(DutyLease.owner)) == "400"


def test_what_only_reads_cannot_write(engine: Engine):
    with pytest.raises(DBAPIError, match=r"readonly|read-only"), reading(engine) as connection:
        connection.execute(insert(DutyLease).values(expires_at=0.0, **LEASE))

    with writing(engine) as connection:  # on the same connection of the pool
        connection.execute(insert(DutyLease).values(expires_at=0.0, **LEASE))


def test_reading_during_a_write(engine: Engine):
    with writing(engine) as connection:
        connection.execute(insert(DutyLease).values(expires_at=0.0, **LEASE))
        with reading(engine) as other:
            assert other.scalar(select(DutyLease.owner)) is None


def test_a_failed_transaction_leaves_nothing(engine: Engine):
    def fail() -> None:
        with writing(engine) as connection:
            connection.execute(insert(DutyLease).values(expires_at=0.0, **LEASE))
            raise ZeroDivisionError

    with pytest.raises(ZeroDivisionError):
        fail()

    with reading(engine) as connection:
        assert connection.scalar(select(DutyLease.owner)) is None


def test_clock(engine: Engine):
    """The clock counts seconds since 1970, and advances within a transaction."""
    with writing(engine) as connection:
        first = connection.scalar(select(now()))
        time.sleep(0.02)
        second = connection.scalar(select(now()))

    assert abs(first - time.time()) < 5
    assert 0.01 < second - first < 5


def test_rows_that_are_there_are_passed_over(engine: Engine):
    row = {"kind": "sudoku", "text": "1", "fingerprint": b"1" * 32}
    with writing(engine) as connection:
        insert_new(connection, StoredPuzzle.__table__, [row])
        insert_new(connection, StoredPuzzle.__table__, [row, row | {"text": "2", "fingerprint": b"2" * 32}])
        insert_new(connection, StoredPuzzle.__table__, [])

    with reading(engine) as connection:
        assert connection.scalars(select(StoredPuzzle.text).order_by(StoredPuzzle.id)).all() == ["1", "2"]


@pytest.mark.parametrize(("given", "stored"), [("a\0b", "a\\0b"), ("caf\udce9", "caf\\udce9"), ("×é😀", "×é😀")])
def test_texts_that_a_database_cannot_hold_are_escaped(engine: Engine, given: str, stored: str):
    """NUL, which PostgreSQL refuses, and the surrogates of a file name that is not UTF-8."""
    with writing(engine) as connection:
        connection.execute(insert(StoredPuzzle).values(id=1, kind="sudoku", text="1", fingerprint=b"1" * 32))
        row = insert(PuzzleSet).values(id=1, name=given, digest="d", source=given, ready=True, created_at=0.0)
        connection.execute(row)
        connection.execute(insert(SetEntry).values(set_id=1, position=0, puzzle_id=1, line=1, label=given))

    with reading(engine) as connection:
        assert connection.execute(select(PuzzleSet.name, PuzzleSet.source)).one() == (stored, stored)
        assert connection.scalar(select(SetEntry.label)) == stored


@pytest.mark.parametrize(
    ("url", "told"),
    [
        ("mysql://localhost/test", "found a mysql database"),
        ("scheduler.db", "invalid database URL"),
        ("postgresql://localhost:port/test", "invalid database URL"),
        ("sqlite://", "without a file"),
        ("sqlite:///:memory:", "without a file"),
    ],
)
def test_unsupported_address(url: str, told: str):
    with pytest.raises(ServiceError, match=told):
        open_engine(url)


# -- the program and version of a database


def _set_version(engine: Engine, version: str) -> None:
    with writing(engine) as connection:
        connection.execute(update(table(VERSION_TABLE, column("version_num"))).values(version_num=version))


def test_empty_database(bare: Engine):
    """The tables are created in an empty database only on request."""
    assert schema_state(bare) is SchemaState.EMPTY
    with pytest.raises(SchemaError, match="scheduler db upgrade"):
        require_current(bare, upgrade_it=False)
    assert schema_state(bare) is SchemaState.EMPTY

    require_current(bare, upgrade_it=True)

    assert schema_state(bare) is SchemaState.CURRENT


@pytest.mark.parametrize("upgrade_it", [True, False])
def test_a_newer_database_is_left_alone(engine: Engine, upgrade_it: bool):
    _set_version(engine, "9999")

    assert schema_state(engine) is SchemaState.NEWER
    with pytest.raises(SchemaError, match="upgrade Cagematch"):
        require_current(engine, upgrade_it=upgrade_it)


def test_older_and_newer_databases(engine: Engine, monkeypatch: pytest.MonkeyPatch):
    monkeypatch.setattr("cagematch.models.schema.REVISIONS", (HEAD, "0002"))
    monkeypatch.setattr("cagematch.models.schema.HEAD", "0002")

    assert schema_state(engine) is SchemaState.OLDER
    with pytest.raises(SchemaError, match="older schema version, expected version 0002; run `scheduler db upgrade`"):
        require_current(engine, upgrade_it=False)


@pytest.mark.parametrize("upgrade_it", [True, False])
def test_database_of_another_program(bare: Engine, upgrade_it: bool):
    with writing(bare) as connection:
        connection.execute(text("CREATE TABLE customer (id INTEGER)"))

    with pytest.raises(SchemaError, match="belongs to another program"):
        require_current(bare, upgrade_it=upgrade_it)

    with reading(bare) as connection:
        assert connection.execute(text("SELECT count(*) FROM customer")).scalar() == 0
    assert schema_state(bare) is SchemaState.FOREIGN


def test_file_of_another_program(tmp_path: Path):
    """The bytes of another program's database file do not change."""
    database, prose = tmp_path / "theirs.db", tmp_path / "letter.db"
    connection = sqlite3.connect(database)
    connection.execute("CREATE TABLE customer (id INTEGER)")
    connection.close()
    prose.write_text("Dear Sir or Madam, this is no database. " * 100)
    before = database.read_bytes(), prose.read_bytes()

    for path in (database, prose):
        with pytest.raises(SchemaError, match="belongs to another program"):
            require_current(open_engine(f"sqlite:///{path}"), upgrade_it=True)

    assert (database.read_bytes(), prose.read_bytes()) == before
    assert sorted(path.name for path in tmp_path.iterdir()) == ["letter.db", "theirs.db"]


def test_reading_during_a_write_in_a_file(tmp_path: Path):
    engine = open_engine(f"sqlite:///{tmp_path / 'scheduler.db'}")
    require_current(engine, upgrade_it=True)

    with reading(engine) as connection:
        assert connection.execute(text("PRAGMA journal_mode")).scalar() == "wal"
        assert connection.execute(text("PRAGMA foreign_keys")).scalar() == 1
