"""Every query of the commands and of their worker finds its rows by an index."""

from __future__ import annotations

import json
import re
import sqlite3
import subprocess
import sys
from collections.abc import Iterator
from contextlib import closing
from pathlib import Path

import pytest
from commanding import Scheduler

# Tables that grow with the runs; the others have one row per batch, file, configuration or worker.
LARGE = ("run", "puzzle", "set_entry", "batch_puzzle", "shard")
SCAN = re.compile(rf"SCAN ({'|'.join(LARGE)})(_[0-9]+)?\b(?!.*USING (COVERING )?INDEX)")
# Statements that scan a whole table on purpose.
WHOLE = (
    "DELETE FROM puzzle WHERE",  # prune --unused: the puzzles without a set or a run
    "count(*) AS count_1 \nFROM puzzle",
    "FROM puzzle \nWHERE NOT",
    "UPDATE run SET verified = CASE WHEN holds",  # a migration
)
# One worker per process; commands that only read, or start no worker, share the last process.
PROCESSES = (
    ["submit hard -s cp-min-size -s cp-sat-fast --limit 2"],
    ["submit queens -s cp-min-size --task unique --limit 2"],
    ["submit queens -s cp-min-size --task count --limit 2 --name counted"],
    ["submit hard -s cp-min-size --limit 1 --permute --repeat 2"],
    ["submit --to 1 -s cp-default"],
    ["rerun 1"],
    ["report --exclude-disturbed", "report 1 2 --exclude-disturbed", "export 1 2 - --format csv --exclude-disturbed"],
    [
        "status",
        "status 1 --json",
        "watch 1",
        "cancel 1",
        "resume 1",
        "report",
        "report 1 2",
        "report counted --format json",
        "export - --format csv",
        "export 1 - --format jsonl",
        "export --experiment 1",
        "show 1",
        "show hard:1",
        "show abcdef",
        "show 8",
        "prune 2",
        "prune 2 --yes",
        "prune --older-than 100 --unused --yes",
    ],
)
# One shift and one run are disturbed, and the others are not, on every machine. All times are set: a disturbed run that
# takes more than a tenth of the time around it disturbs the runs around it.
DISTURBED = """
UPDATE shift SET steal = 0, pressure = 0, load = 0, oversubscribed = 0, reference_s = 0.003;
UPDATE run SET reference_s = 0.003, wall_s = 1, cpu_s = 1;
UPDATE shift SET steal = 0.5 WHERE id = (SELECT min(id) FROM shift);
UPDATE run SET reference_s = 9, wall_s = 0.001, cpu_s = 0.001
WHERE id = (SELECT max(id) FROM run WHERE batch_id = 2);
"""
# Runs commands and records every SQL statement with one set of its parameters.
LISTENER = """
import json, sys
from sqlalchemy import Engine, event
from typer.testing import CliRunner
from cagematch.problems.errors import LookupFailed
from cagematch.scheduler.cli import make_application

app = make_application()
found = {}

@event.listens_for(Engine, "before_cursor_execute")
def note(connection, cursor, statement, parameters, context, many):
    found.setdefault(statement, len(parameters[0] if many else parameters))

for command in sys.argv[2:]:
    done = CliRunner().invoke(app, command.split())
    if done.exception and not isinstance(done.exception, (SystemExit, LookupFailed)):
        sys.exit(f"{command}: {done.exception!r}: {done.output}")
with open(sys.argv[1], "w") as out:
    json.dump(found, out)
"""


@pytest.mark.slow
def test_queries_use_indexes(scheduler: Scheduler):
    """No query scans every row of a large table."""
    found: dict[str, int] = {}
    for commands in PROCESSES:
        if any("--exclude-disturbed" in command for command in commands):
            with closing(sqlite3.connect(scheduler.folder / "scheduler.db")) as database:
                database.executescript(DISTURBED)
        recorded = scheduler.folder / "statements.json"
        program = [sys.executable, "-P", "-c", LISTENER, str(recorded), *commands]
        done = subprocess.run(  # noqa: PLW1510 - checked below
            program, cwd=scheduler.folder, env=scheduler.environment, capture_output=True, text=True, timeout=240
        )
        assert done.returncode == 0, done.stderr
        found |= json.loads(recorded.read_text())

    plans = dict(explained(scheduler.folder / "scheduler.db", found))
    scans = {query: plan for query, plan in plans.items() if any(map(SCAN.search, plan)) and not whole(query)}

    assert len(plans) > 60
    assert scans == {}


def explained(database: Path, found: dict[str, int]) -> Iterator[tuple[str, list[str]]]:
    """SQLite's query plan of each statement for large tables."""
    with closing(sqlite3.connect(database)) as connection:
        for statement, count in found.items():
            if statement.lstrip().upper().startswith(("SELECT", "UPDATE", "DELETE")) and "sqlite_" not in statement:
                rows = connection.execute(f"EXPLAIN QUERY PLAN {statement}", (None,) * count)
                yield statement, [row[3] for row in rows]


def whole(query: str) -> bool:
    return any(part in query for part in WHOLE)
