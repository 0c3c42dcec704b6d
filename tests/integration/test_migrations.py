"""The migrations create the tables of the models on each database, and can be repeated."""

from __future__ import annotations

import subprocess
import sys
from pathlib import Path
from typing import Any

import alembic.command
import alembic.op
import pytest
from alembic.autogenerate import compare_metadata
from alembic.config import Config
from alembic.migration import MigrationContext
from alembic.script import ScriptDirectory
from rows import make_batch, make_worker
from sqlalchemy import Engine, column, insert, inspect, select, table, text, update
from sqlalchemy.exc import IntegrityError

from cagematch import migrations
from cagematch.models import Base, Batch, PuzzleSet, Run, SetEntry, Shard, StoredPuzzle
from cagematch.models.engine import open_engine, reading, writing
from cagematch.models.schema import HEAD, REVISIONS, VERSION_TABLE, downgrade, upgrade

RUN = {"configuration_id": 1, "repeat": 0, "seed": 0, "answer": "solution", "stop": "finished", "wall_s": 0.1}
RUN |= {"threads": 1, "cores": "0", "finished_at": 0.0}
FOLDER = Path(migrations.__file__).parent
ROOT = FOLDER.parent


def test_revisions():
    """The list of revisions is the same as that of the script directory."""
    config = Config()
    config.set_main_option("script_location", str(FOLDER))
    scripts = ScriptDirectory.from_config(config)

    revisions = [script.revision for script in scripts.walk_revisions()]

    assert scripts.get_heads() == [HEAD]
    assert tuple(reversed(revisions)) == REVISIONS


def test_migrations_and_models_agree(migrated: Engine):
    with reading(migrated) as connection:
        context = MigrationContext.configure(
            connection, opts={"compare_type": True, "compare_server_default": True, "version_table": VERSION_TABLE}
        )
        assert compare_metadata(context, Base.metadata) == []


def test_migrations_name_and_check_what_the_models_do(migrated: Engine):
    """Alembic does not compare CHECK constraints and the names of keys."""
    made = _described(migrated)
    with writing(migrated) as connection:
        Base.metadata.drop_all(connection)
        Base.metadata.create_all(connection)

    assert _described(migrated) == made


def test_up_down_and_up_again(bare: Engine):
    upgrade(bare)
    once = _described(bare)

    downgrade(bare, "base")
    left = set(inspect(bare).get_table_names()) - {VERSION_TABLE}
    upgrade(bare)

    assert not left
    assert _described(bare) == once


def test_runs_outlive_the_tasks_up_and_down(migrated: Engine):
    """The first tables have only the task `solve`: a valid run is one verified solution, other tasks are deleted."""
    (solving,) = make_batch(migrated, puzzles=2, size=2)
    make_batch(migrated, puzzles=1, size=1)
    worker = make_worker(migrated)
    with writing(migrated) as connection:
        batches = connection.scalars(select(Batch.id).order_by(Batch.id)).all()
        connection.execute(update(Batch).where(Batch.id == batches[1]).values(task="count", bound=5))
        puzzles = connection.scalars(select(StoredPuzzle.id).order_by(StoredPuzzle.id)).all()
        for batch, puzzle, holds in zip((*batches[:1] * 2, batches[1]), puzzles, (True, None, True), strict=True):
            connection.execute(
                insert(Run).values(batch_id=batch, puzzle_id=puzzle, holds=holds, worker_id=worker, **RUN)
            )

    downgrade(migrated, "0001")
    with reading(migrated) as connection:
        assert connection.scalars(text("SELECT task FROM batch")).all() == ["solve"]
        assert connection.scalar(text("SELECT count(*) FROM run")) == 2
    upgrade(migrated)

    with reading(migrated) as connection:
        assert connection.scalars(select(Run.verified).order_by(Run.puzzle_id)).all() == [1, None]
        assert connection.scalars(select(Shard.id)).all() == [solving]


def test_upgrade_of_a_current_database(migrated: Engine):
    """An upgrade of a current database changes nothing."""
    with writing(migrated) as connection:
        connection.execute(insert(StoredPuzzle).values(kind="sudoku", text="1", fingerprint=b"1" * 32))

    upgrade(migrated)

    with reading(migrated) as connection:
        assert connection.scalars(select(StoredPuzzle.text)).all() == ["1"]


def test_two_upgrades_at_once_make_the_tables_once(bare: Engine):
    url = bare.url.render_as_string(hide_password=False)
    command = "import sys; from models import engine, schema; schema.upgrade(engine.open_engine(sys.argv[1]))"

    started = [subprocess.Popen([sys.executable, "-c", command, url], cwd=ROOT, stderr=subprocess.PIPE) for _ in "123"]
    said = [process.communicate(timeout=60)[1].decode() for process in started]

    assert [process.returncode for process in started] == [0, 0, 0], said
    with reading(bare) as connection:
        assert connection.scalars(select(column("version_num")).select_from(table(VERSION_TABLE))).all() == [HEAD]


def test_a_migration_that_fails_leaves_nothing_behind(bare: Engine, monkeypatch: pytest.MonkeyPatch):
    create_table = alembic.op.create_table

    def fail_at_runs(name: str, *columns: Any) -> object:
        if name == "run":
            raise RuntimeError("the disk is full")
        return create_table(name, *columns)

    monkeypatch.setattr(alembic.op, "create_table", fail_at_runs)
    with pytest.raises(RuntimeError, match="disk is full"):
        upgrade(bare)

    assert inspect(bare).get_table_names() == []


def test_foreign_keys_hold_after_a_migration(migrated: Engine):
    """They are disabled during a migration, and the connection returns to the pool."""
    for _ in range(2):
        with pytest.raises(IntegrityError), writing(migrated) as connection:
            connection.execute(insert(SetEntry).values(set_id=7, position=0, puzzle_id=7, line=1, label=""))
        upgrade(migrated)


def test_a_migration_that_breaks_references_is_taken_back(tmp_path: Path, monkeypatch: pytest.MonkeyPatch):
    engine = open_engine(f"sqlite:///{tmp_path / 'scheduler.db'}")
    upgrade(engine)
    with writing(engine) as connection:
        connection.execute(insert(StoredPuzzle).values(id=1, kind="sudoku", text="1", fingerprint=b"1" * 32))
        row = insert(PuzzleSet).values(id=1, name="a", digest="d", source="a.txt", ready=True, created_at=0.0)
        connection.execute(row)
        connection.execute(insert(SetEntry).values(set_id=1, position=0, puzzle_id=1, line=1, label=""))

    def migrate(self: MigrationContext, **_: object) -> None:
        self.connection.exec_driver_sql("DELETE FROM puzzle")

    monkeypatch.setattr(MigrationContext, "run_migrations", migrate)
    with pytest.raises(RuntimeError, match="broken references"):
        upgrade(engine)

    with reading(engine) as connection:
        assert (
            connection.scalars(select(SetEntry.puzzle_id)).all()
            == connection.scalars(select(StoredPuzzle.id)).all()
            == [1]
        )
    engine.dispose()


def test_a_new_revision_would_be_empty(tmp_path: Path):
    """``alembic revision --autogenerate`` finds no difference."""
    engine = open_engine(f"sqlite:///{tmp_path / 'scheduler.db'}")
    upgrade(engine)
    config = Config()
    config.set_main_option("script_location", str(FOLDER))
    config.attributes["engine"], config.attributes["version_table"] = engine, VERSION_TABLE

    alembic.command.check(config)
    engine.dispose()


def _described(engine: Engine) -> dict[str, object]:
    """Every table with its columns, keys, checks and indexes, and their names, sorted."""
    found = inspect(engine)
    return {
        table: {
            "columns": sorted((c["name"], str(c["type"]), c["nullable"]) for c in found.get_columns(table)),
            "primary": found.get_pk_constraint(table)["name"],
            "unique": sorted((u["name"], tuple(u["column_names"])) for u in found.get_unique_constraints(table)),
            "foreign": sorted(
                (f["name"], tuple(f["constrained_columns"]), f["referred_table"], f["options"].get("ondelete"))
                for f in found.get_foreign_keys(table)
            ),
            "checks": sorted((c["name"], c["sqltext"]) for c in found.get_check_constraints(table)),
            "indexes": sorted(
                (i["name"], tuple(i["column_names"]), bool(i["unique"])) for i in found.get_indexes(table)
            ),
        }
        for table in found.get_table_names()
        if table != VERSION_TABLE
    }
