"""`report`, `export`, `show`, `solvers`, `status` after a small batch."""

from __future__ import annotations

import csv
import json
import shutil
import sqlite3
from contextlib import closing
from dataclasses import replace

import pytest
from commanding import Scheduler, make_scheduler
from looking import exported, report

NAMED = (
    *("batch", "set", "kind", "puzzle", "label", "configuration", "task", "repeat", "status", "answer", "stop"),
    *("verdict", "build_s", "solve_s", "wall_s", "cpu_s", "peak_mib", "variables", "constraints", "solution", "second"),
    *("count", "complete", "changes", "verified", "host", "run"),
)
PUZZLE = "..3.2.6..9..3.5..1..18.64....81.29..7.......8..67.82....26.95..8..2.3..9..5.1.3.."
SOLUTION = "483921657967345821251876493548132976729564138136798245372689514814253769695417382"
LABELS = ("=cmd() | [red]", "+1", "[/bold] | a")


@pytest.fixture(scope="module")
def scheduler(tmp_path_factory):
    folder = tmp_path_factory.mktemp("results") / "work"
    folder.mkdir()
    made = make_scheduler(folder)
    other = PUZZLE.replace("..3.2.6..", "..3.2....")
    third = PUZZLE.replace("..5.1.3..", "....1.3..")
    lines = [f"{puzzle} {label}\n" for puzzle, label in zip((PUZZLE, other, third), LABELS, strict=True)]
    (folder / "odd.txt").write_text("".join(lines))
    made("submit", "odd.txt", "-s", "cp-min-size", "-s", "cp-sat:workers=1")
    yield made
    made.close()


def test_export_has_the_named_columns_first(scheduler):
    scheduler("export", "runs.csv")

    with (scheduler.folder / "runs.csv").open(newline="") as file:
        heading, *found = csv.reader(file)
    assert tuple(heading[: len(NAMED)]) == NAMED
    assert len(found) == 6
    first = next(r for r in exported(scheduler) if r["puzzle"] == PUZZLE and r["configuration"] == "cp-min-size")
    assert (first["set"], first["kind"], first["status"], first["verdict"]) == ("odd", "sudoku", "solved", "correct")
    assert first["solution"] == SOLUTION
    assert float(first["wall_s"]) >= float(first["solve_s"]) > 0


def test_no_label_is_a_formula_in_a_spreadsheet(scheduler):
    labels = {row["label"] for row in exported(scheduler)}

    assert not any(label.startswith(("=", "+", "-", "@")) for label in labels)
    assert any("[red]" in label for label in labels)


def test_export_keeps_labels(scheduler):
    """An export as JSON lines contains the labels unchanged."""
    scheduler("export", "1", "runs.jsonl")

    found = [json.loads(line) for line in (scheduler.folder / "runs.jsonl").read_text().splitlines()]
    assert len(found) == 6
    assert tuple(found[0])[: len(NAMED)] == NAMED
    assert {"[red]" in row["label"] for row in found} == {True, False}
    assert isinstance(found[0]["wall_s"], float)


def test_export_that_cannot_be_written_says_why(scheduler):
    assert "cannot be written" in scheduler("export", "no/such/folder.csv", code=2).stderr


def test_report_formats_agree(scheduler):
    as_json = report(scheduler)
    as_csv = list(csv.DictReader(scheduler("report", "--format", "csv").stdout.splitlines()))
    as_md = scheduler("report", "--format", "md").stdout

    assert [row["configuration"] for row in as_json] == [row["configuration"] for row in as_csv]
    assert list(as_json[0]) == list(as_csv[0])
    assert as_md.startswith("### odd  3 puzzles\n\n| configuration")


def test_columns_sort_and_filter(scheduler):
    shown = scheduler("report", "--columns", "configuration,memout,ratio", "--sort", "-mean_ms").stdout.splitlines()
    assert shown[1].split() == ["configuration", "memout", "x", "best"]
    assert shown[3].split()[-1] == "1.00"

    (only,) = report(scheduler, "--filter", "configuration=sat")
    assert only["configuration"] == "cp-sat:workers=1"
    assert len(report(scheduler, "--filter", "solved=3")) == 2
    for words in (["--columns", "beauty"], ["--sort", "beauty"], ["--filter", "x=1"], ["--filter", "solved"]):
        scheduler("report", *words, code=2)
    assert "solved=7" in scheduler("report", "--filter", "solved=7", code=2).stderr


def test_show_draws_puzzles_and_runs(scheduler):
    drawn = scheduler("show", "odd:1").stdout

    assert "=cmd() | [red]" in drawn
    assert "│ 4 8 3 │ 9 2 1 │ 6 5 7 │" in drawn
    fingerprint = drawn.split()[1]
    assert scheduler("show", fingerprint).stdout == drawn
    assert scheduler("show", PUZZLE).stdout == drawn
    run = scheduler("show", 1).stdout
    assert run.startswith("run 1: cp-")
    assert "satisfies every constraint" in run


def test_a_terminal_without_unicode_gets_plain_grids(scheduler):
    plain = Scheduler(scheduler.folder, scheduler.command, scheduler.environment | {"PYTHONIOENCODING": "ascii"})

    assert "| 4 8 3 | 9 2 1 | 6 5 7 |" in plain("show", "odd:1").stdout
    assert plain("report").stdout == scheduler("report").stdout
    plain("status")
    assert r"no shipped set with this name" in plain("submit", "ü.txt", code=2).stderr


def test_solvers_lists_valid_configurations(scheduler):
    told = scheduler("solvers").stdout
    found = json.loads(scheduler("solvers", "--json").stdout)

    assert {"cp-sat", "legacy-cp", "scip", "cbc", "pulp-cbc", "backtracking"} <= {
        b["backend"] for b in found["backends"]
    }
    assert all(b["version"] in told for b in found["backends"] if b["version"])
    assert "@core" in found["groups"]
    assert "cp-min-size" in told


def test_status_for_people_and_programs(scheduler):
    assert "batch 1: odd; done, 6 of 6 runs: 6 solved" in scheduler("status").stdout
    assert "cp-sat:workers=1" in scheduler("status", "1").stdout
    (batch,) = json.loads(scheduler("status", "--json").stdout)["batches"]
    assert (batch["state"], batch["done"], batch["total"], batch["words"]) == ("done", 6, 6, {"solved": 6})


def test_nothing_is_left_of_a_finished_batch(scheduler):
    assert "has no unfinished runs" in scheduler("resume").stdout
    assert "no unfinished runs to cancel" in scheduler("cancel").stdout
    assert "6 of 6 runs" in scheduler("watch").stdout
    assert "has the version of this program" in scheduler("db", "check").stdout
    assert "up to date" in scheduler("db", "upgrade").stdout


COMMANDS = (
    "submit",
    "status",
    "watch",
    "cancel",
    "resume",
    "report",
    "export",
    "show",
    "worker",
    "solvers",
    "db",
    "verify",
)


@pytest.mark.parametrize("words", [(), *((c,) for c in COMMANDS), ("db", "upgrade"), ("db", "check")])
def test_every_command_has_help(scheduler, words):
    told = scheduler(*words, "--help").stdout

    assert told.startswith("Usage: scheduler")
    assert "..." not in told.partition("Commands:")[2], "a summary is too long for its line"


def test_exclude_disturbed(scheduler, tmp_path):
    """`--exclude-disturbed` drops disturbed runs, and reports if no other run exists."""
    shutil.copytree(scheduler.folder, tmp_path / "work")
    doubted = replace(scheduler, folder=tmp_path / "work")

    def note(steal, pattern):
        theirs = "SELECT shift_id FROM run JOIN configuration c ON c.id = configuration_id WHERE c.text LIKE ?"
        with closing(sqlite3.connect(doubted.folder / "scheduler.db")) as database, database:
            calm = "UPDATE shift SET pressure = 0, load = 0, reference_s = NULL, steal = ?"
            database.execute(f"{calm} WHERE id IN ({theirs})", (steal, pattern))
            database.execute("UPDATE run SET reference_s = NULL")

    note(0, "%")
    note(0.5, "cp-min-%")
    rows = json.loads(doubted("report", "--exclude-disturbed", "--format", "json").stdout)
    assert [row["configuration"] for row in rows] == ["cp-sat:workers=1"]

    with closing(sqlite3.connect(doubted.folder / "scheduler.db")) as database, database:
        database.execute("UPDATE run SET holds = 0 WHERE id = (SELECT min(id) FROM run WHERE solution IS NOT NULL)")
    note(0.5, "cp-min-%")
    note(0.5, "cp-sat%")
    with closing(sqlite3.connect(doubted.folder / "scheduler.db")) as database, database:
        database.execute("UPDATE shift SET steal = 0 WHERE id NOT IN (SELECT shift_id FROM run WHERE holds = 0)")
    told = doubted("report", "--exclude-disturbed", code=1)
    assert "1 run is WRONG" in told.stderr  # a disturbance affects the time, not the answer

    note(0.5, "%")
    for form in ("table", "json"):
        told = doubted("report", "--exclude-disturbed", "--format", form, code=2)
        assert "all of these runs were disturbed" in told.stderr
    assert "all of these runs were disturbed" in doubted("export", "--exclude-disturbed", "none.csv", code=2).stderr
    assert not (doubted.folder / "none.csv").exists()


def test_older_undisturbed_run(scheduler, tmp_path):
    """An older undisturbed run replaces a newer disturbed one."""
    shutil.copytree(scheduler.folder, tmp_path / "work")
    doubted = replace(scheduler, folder=tmp_path / "work")
    doubted("submit", "odd.txt", "-s", "cp-min-size")
    with closing(sqlite3.connect(doubted.folder / "scheduler.db")) as database, database:
        database.execute("UPDATE shift SET pressure = 0, load = 0, reference_s = NULL, steal = 0")
        database.execute("UPDATE run SET reference_s = NULL")
        database.execute("UPDATE shift SET steal = 0.5 WHERE batch_id = 2")

    def runs(*options):
        told = doubted("report", "--format", "json", *options)
        return {row["configuration"]: row["runs"] for row in json.loads(told.stdout)}, told.stderr

    found, doubts = runs()
    assert found == {"cp-min-size": 3, "cp-sat:workers=1": 3}
    assert "3 runs affected (cp-min-size)" in doubts
    found, doubts = runs("--exclude-disturbed")
    assert found == {"cp-min-size": 3, "cp-sat:workers=1": 3}
    assert "note: 3 disturbed runs excluded" in doubts
    assert "batch 1: the latest run" in doubts


def test_exclude_disturbed_with_an_experiment(scheduler):
    """`export --experiment` refuses `--exclude-disturbed`."""
    told = scheduler("export", "--experiment", "1", "again.toml", "--exclude-disturbed", code=2)

    assert "an experiment file contains none" in told.stderr
    assert not (scheduler.folder / "again.toml").exists()
