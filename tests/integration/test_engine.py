"""Transactions, clocks and texts behave alike on SQLite and PostgreSQL."""

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
    """Call ``work(0)``, ``work(1)``, … in as many threads, started together; raise what one of them raised."""
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
    """Read, add one, write: under the driver's own transactions SQLite loses about half of them."""
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


def test_one_reads_while_another_writes(engine: Engine):
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


def test_the_clock_counts_seconds_since_1970_and_goes_on_within_a_transaction(engine: Engine):
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
    """NUL, which PostgreSQL refuses, and the half surrogates of a file name that is no UTF-8."""
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
def test_an_address_that_will_not_do_is_refused(url: str, told: str):
    with pytest.raises(ServiceError, match=told):
        open_engine(url)


# -- whose database it is, and of which version


def _set_version(engine: Engine, version: str) -> None:
    with writing(engine) as connection:
        connection.execute(update(table(VERSION_TABLE, column("version_num"))).values(version_num=version))


def test_an_empty_database_is_made_ready_only_when_told_to(bare: Engine):
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


def test_an_older_database_is_told_from_a_newer(engine: Engine, monkeypatch: pytest.MonkeyPatch):
    monkeypatch.setattr("cagematch.models.schema.REVISIONS", (HEAD, "0002"))
    monkeypatch.setattr("cagematch.models.schema.HEAD", "0002")

    assert schema_state(engine) is SchemaState.OLDER
    with pytest.raises(SchemaError, match="older schema version, expected version 0002; run `scheduler db upgrade`"):
        require_current(engine, upgrade_it=False)


@pytest.mark.parametrize("upgrade_it", [True, False])
def test_somebody_elses_database_is_left_alone(bare: Engine, upgrade_it: bool):
    with writing(bare) as connection:
        connection.execute(text("CREATE TABLE customer (id INTEGER)"))

    with pytest.raises(SchemaError, match="belongs to another program"):
        require_current(bare, upgrade_it=upgrade_it)

    with reading(bare) as connection:
        assert connection.execute(text("SELECT count(*) FROM customer")).scalar() == 0
    assert schema_state(bare) is SchemaState.FOREIGN


def test_somebody_elses_file_stays_as_it_was_byte_by_byte(tmp_path: Path):
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


def test_our_files_let_one_read_while_another_writes(tmp_path: Path):
    engine = open_engine(f"sqlite:///{tmp_path / 'scheduler.db'}")
    require_current(engine, upgrade_it=True)

    with reading(engine) as connection:
        assert connection.execute(text("PRAGMA journal_mode")).scalar() == "wal"
        assert connection.execute(text("PRAGMA foreign_keys")).scalar() == 1
