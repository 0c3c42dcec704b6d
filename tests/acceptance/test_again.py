"""Experiment files: created from a batch, submitted again, and compared by `rerun`."""

from __future__ import annotations

import json
import sqlite3
from contextlib import closing

import pytest
from looking import stored

EXPERIMENT = """
name = "strategies"
puzzles = ["hard", "mine/first.txt"]
solvers = ["cp-min-size", "cp-sat-fast"]
timeout = "10s"
repeat = 2
seed = 7
permute = true
limit = 2
"""

CHANGES = (
    "UPDATE host SET facts = json_set(facts, '$.processor', 'Z80', '$.cores', 99), digest = 'another'",
    """UPDATE worker SET versions = json_set(versions, '$."legacy-cp"', '1.0'), reference_s = 9""",
    "UPDATE shift SET reference_s = 9",
    "UPDATE batch SET versions = json_set(versions, '$.cagematch', '0.0.1')",
)


def runs(scheduler, batch):
    return [json.loads(line) for line in scheduler("export", batch, "-", "--format", "jsonl").stdout.splitlines()]


def what(rows):
    """The runs without times and dates."""
    kept = ("set", "puzzle", "configuration", "repeat", "seed", "solution", "status")
    return sorted(tuple(str(row[name]) for name in kept) for row in rows)


@pytest.mark.slow
def test_export_of_an_experiment(scheduler):
    mine = scheduler.folder / "mine"
    mine.mkdir()
    (mine / "first.txt").write_text("1.3.3.1.2.4.4.2.\n")
    (scheduler.folder / "first.toml").write_text(EXPERIMENT)

    scheduler("submit", "first.toml")
    scheduler("export", "--experiment", "strategies", "again.toml")
    scheduler("submit", "again.toml")
    scheduler("submit", "first.toml", "--repeat", 1, "-s", "cp-min-size")

    assert len(runs(scheduler, 1)) == 3 * 2 * 2
    assert what(runs(scheduler, 1)) == what(runs(scheduler, 2))
    assert {row["configuration"] for row in runs(scheduler, 3)} == {"cp-min-size"}
    assert len(runs(scheduler, 3)) == 3
    names = [batch["name"] for batch in json.loads(scheduler("status", "--json").stdout)["batches"]]
    assert sorted(names) == ["strategies", "strategies-2", "strategies-3"]


def test_rerun_with_changed_puzzles(scheduler):
    """`rerun` reports puzzles that differ from those of the experiment."""
    (scheduler.folder / "mine.txt").write_text("1.3.3.1.2.4.4.2.\n")
    scheduler("submit", "mine.txt", "-s", "cp-min-size")
    scheduler("export", "--experiment", 1, "again.toml")
    (scheduler.folder / "mine.txt").write_text("1.3.3.1.2.4.4.21\n")

    told = scheduler("submit", "again.toml").stderr

    assert "the puzzles in mine.txt differ from those the experiment was exported with" in told


def test_a_faulty_experiment_stores_nothing(scheduler):
    (scheduler.folder / "bad.toml").write_text('puzzles = ["hard", "../up.txt"]\nrepeat = 0\n')

    told = scheduler("submit", "bad.toml", code=2).stderr

    assert "bad.toml:1: puzzles: '../up.txt' is not below the folder of the experiment" in told
    assert "bad.toml:2: repeat: found 0" in told
    assert not any(stored(scheduler.folder).values())


def test_rerun(scheduler):
    scheduler("submit", "hard", "--limit", 3, "-s", "cp-min-size", "--repeat", 2, "--seed", 5)

    told = scheduler("rerun", 1)

    assert "batch 2 is a rerun of batch 1" in told.stderr
    assert "same machine, versions and limits as batch 1" in told.stderr
    assert "× the mean wall time of batch 1" in told.stderr
    assert what(runs(scheduler, 1)) == what(runs(scheduler, 2))


def test_rerun_reports_differences(scheduler):
    scheduler("submit", "hard", "--limit", 1, "-s", "cp-min-size")
    with closing(sqlite3.connect(scheduler.folder / "scheduler.db")) as database, database:
        for change in CHANGES:
            database.execute(change)

    told = scheduler("rerun", 1).stderr

    assert "warning: processor changed from Z80 to " in told
    assert "warning: cores changed from 99 to " in told
    assert "warning: the version of legacy-cp changed from 1.0 to " in told
    assert "warning: the version of cagematch changed from 0.0.1 to " in told
    assert "faster in batch 2: the machines differ" in told
    assert "same machine" not in told


@pytest.mark.slow
def test_an_export_is_submitted_again(scheduler):
    scheduler("submit", "killer", "--limit", 2, "-s", "cp-sat-fast", "-s", "propagation", "--timeout", "500ms")
    scheduler("export", "runs.jsonl")

    scheduler("submit", "runs.jsonl", "-s", "cp-sat-fast")

    before, after = ({(row["puzzle"], row["label"]) for row in runs(scheduler, batch)} for batch in (1, 2))
    assert len(before) == 2
    assert before == after
    assert len(runs(scheduler, 2)) == 2


def test_rerun_of_a_batch_without_runs(scheduler):
    """`rerun` of a batch without runs prints no comparison."""
    scheduler("submit", "hard", "--limit", 1, "-s", "cp-min-size")
    with closing(sqlite3.connect(scheduler.folder / "scheduler.db")) as database, database:
        database.execute("DELETE FROM run")

    assert "batch 1 has no runs to compare" in scheduler("rerun", 1).stderr
