"""A database with many runs is upgraded from the first tables to the latest and back, and keeps its data.

``CAGEMATCH_TEST_RUNS=1000000`` runs the test with a million runs.
"""

from __future__ import annotations

import os

import pytest
from sqlalchemy import Engine, inspect, text

from cagematch.models.engine import reading, writing
from cagematch.models.schema import REVISIONS, VERSION_TABLE, downgrade, upgrade

RUNS = int(os.environ.get("CAGEMATCH_TEST_RUNS", "20000"))
PUZZLES = 100
NUMBERS = {
    "sqlite": "(WITH RECURSIVE n(i) AS (SELECT 0 UNION ALL SELECT i + 1 FROM n WHERE i + 1 < :count) SELECT i FROM n)",
    "postgresql": "(SELECT generate_series(0, :count - 1) AS i)",
}
# Rows of the first tables.
ROWS = (
    "INSERT INTO host (id, name, digest, facts) VALUES (1, 'here', 'd', '{}')",
    (
        "INSERT INTO worker (id, host_id, pid, program, queues, versions, slots, schema, reference_s, started_at,"
        " heartbeat_at) VALUES (1, 1, 1, '0', '[]', '{}', 1, '0001', 0.1, 0, 0)"
    ),
    "INSERT INTO configuration (id, text, expanded, backend) VALUES (1, 'cp-sat', 'cp-sat', 'cp-sat')",
    (
        "INSERT INTO batch (id, state, task, timeout_s, memory_mib, repeats, seed, puzzles, versions, created_at)"
        " VALUES (1, 'done', 'solve', 3, 512, :count / 100, 0, 100, '{}', 0)"
    ),
)
PUZZLE = {
    "sqlite": "INSERT INTO puzzle (kind, text, fingerprint) SELECT 'sudoku', i, CAST(i AS BLOB) FROM {numbers} AS n",
    "postgresql": "INSERT INTO puzzle (kind, text, fingerprint)"
    " SELECT 'sudoku', i::text, decode(md5(i::text), 'hex') FROM {numbers} AS n",
}
RUN = (
    "INSERT INTO run (batch_id, configuration_id, puzzle_id, repeat, seed, answer, stop, holds, solution, wall_s,"
    " detail, threads, cores, worker_id, finished_at) SELECT 1, 1, 1 + i % 100, i / 100, 0,"
    " CASE WHEN i % 3 = 0 THEN 'unknown' ELSE 'solution' END, 'finished',"
    " CASE i % 3 WHEN 0 THEN NULL WHEN 1 THEN {true} ELSE {false} END, '1234341221434321', i * 0.125, '', 1, '0', 1, i"
    " FROM {numbers} AS n"
)
SUMS = "SELECT count(*), sum(wall_s), count(holds), sum(CASE WHEN holds THEN 1 ELSE 0 END), max(puzzle_id) FROM run"


@pytest.fixture
def filled(bare: Engine) -> Engine:
    """The first tables, with runs: a third has a right solution, and a third a wrong one."""
    upgrade(bare, REVISIONS[0])
    dialect = bare.dialect.name
    numbers = NUMBERS[dialect]
    true, false = ("1", "0") if dialect == "sqlite" else ("true", "false")
    with writing(bare) as connection:
        for row in ROWS:
            connection.execute(text(row), {"count": RUNS} if ":count" in row else {})
        connection.execute(text(PUZZLE[dialect].format(numbers=numbers)), {"count": PUZZLES})
        connection.execute(text(RUN.format(numbers=numbers, true=true, false=false)), {"count": RUNS})
    return bare


def sums(engine: Engine) -> tuple[object, ...]:
    with reading(engine) as connection:
        return tuple(connection.execute(text(SUMS)).one())


def indexes(engine: Engine) -> set[str]:
    return {
        index["name"] for table in inspect(engine).get_table_names() for index in inspect(engine).get_indexes(table)
    }


@pytest.mark.timeout(1800)
def test_many_runs_up_and_down(filled: Engine):
    """An upgrade and a downgrade keep every run unchanged."""
    before, indexed = sums(filled), indexes(filled)
    assert before[0] == RUNS

    upgrade(filled)
    with reading(filled) as connection:
        found = connection.execute(text("SELECT sum(verified), count(verified) FROM run")).one()
        seen = connection.execute(text(f"SELECT version_num FROM {VERSION_TABLE}")).scalar_one()  # noqa: S608
    assert tuple(found) == (before[3], before[2])
    assert seen == REVISIONS[-1]
    assert sums(filled) == before

    downgrade(filled, REVISIONS[0])
    assert sums(filled) == before
    assert indexes(filled) == indexed
