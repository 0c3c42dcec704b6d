"""`submit --task`, and its results in `report`, `show` and `export`."""

from __future__ import annotations

import csv
import json
import re

import pytest
from commanding import make_scheduler
from looking import exported

FULL = "1234341221434321"
PROPER, SEVERAL, BROKEN = "12...4....3...2.", "12343412........", "123........4...."


@pytest.fixture(scope="module")
def scheduler(tmp_path_factory):
    folder = tmp_path_factory.mktemp("tasks") / "work"
    folder.mkdir()
    (folder / "book.txt").write_text(f"{PROPER} # good\n{SEVERAL} # two\n")
    (folder / "good.txt").write_text(f"{PROPER}\n{FULL}\n")
    (folder / "broken.txt").write_text(f"{BROKEN} # typo\n")
    made = make_scheduler(folder)
    yield made
    made.close()


def test_improper_puzzles(scheduler):
    """The output lists the puzzles that are not proper, with the reason."""
    told = scheduler("submit", "book.txt", "--task", "unique", "-s", "cp-min-size", "--name", "book", code=1)

    assert "book:2  several  cp-min-size  two" in told.stdout
    assert "book:2: " in told.stdout
    assert "cells differ" in told.stdout
    assert "2 puzzles, NOT PROPER: 1 several" in told.stderr
    again = scheduler("report", "book", code=1)
    assert "book  2 puzzles, task unique" in again.stdout
    assert "book:2  several" in again.stdout
    assert scheduler("report", "book", "--table", "comparison").stdout.count("book:2") == 0


def test_the_two_solutions_are_in_files(scheduler):
    as_csv = scheduler("report", "book", "--table", "improper", "--format", "csv", code=1).stdout
    as_json = scheduler("report", "book", "--table", "improper", "--format", "json", code=1).stdout

    (row,) = csv.DictReader(as_csv.splitlines())
    assert [row] == json.loads(as_json)
    assert (row["place"], row["puzzle"], row["found"]) == ("book:2", SEVERAL, "several")
    assert row["solution"] != row["second"]
    (run,) = [run for run in exported(scheduler, "book") if run["status"] == "several"]
    assert {run["solution"], run["second"]} == {row["solution"], row["second"]}
    assert "second solution, " in scheduler("show", run["run"]).stdout


def test_proper_puzzles_are_no_reason_to_fail(scheduler):
    told = scheduler("submit", "good.txt", "--task", "unique", "-s", "cp-min-size", "--name", "good")

    assert "2 puzzles, each with exactly one solution" in told.stderr
    scheduler("report", "good")


def test_count_per_puzzle(scheduler):
    told = scheduler(
        "submit", "book.txt", "--task", "count", "-s", "cp-min-size", "-s", "backtracking", "--name", "all"
    )

    (first, second) = csv.DictReader(
        scheduler("report", "all", "--table", "counts", "--format", "csv").stdout.splitlines()
    )
    assert (first["solutions"], first["found"], first["by"]) == ("1", "counted", "cp-min-size, backtracking")
    assert int(second["solutions"]) > 1
    assert f"book:2          {second['solutions']}  counted" in told.stdout


def test_a_repair_names_the_cells_that_change(scheduler):
    told = scheduler("submit", "broken.txt", "--task", "repair", "-s", "cp-sat:workers=1", "--name", "mended")

    assert "broken:1        1  repaired  r" in told.stdout
    (run,) = exported(scheduler, "mended")
    assert (run["changes"], run["complete"], run["status"]) == ("1", "True", "repaired")
    shown = scheduler("show", run["run"]).stdout
    assert "task repair: 1 change, proved minimal" in shown
    last = shown.splitlines()[-1]
    assert re.fullmatch(r"r[13]c[1234]: [1234] → [1234]", last)
    assert last in told.stdout


def test_tables_that_are_not_there_are_refused(scheduler):
    assert "expected one of: comparison, improper" in scheduler("report", "--table", "beauty", code=2).stderr
    told = scheduler("report", "mended", "--table", "improper", code=2).stderr
    assert "needs a batch of the task unique or count: `scheduler report 3" in told


def test_model_size_without_a_run(scheduler):
    """`show --model` works without a run, and for a puzzle that is not stored."""
    told = scheduler("show", "book:1", "--model", "cp-sat", "--model", "backtracking").stdout

    assert "cp-sat  16 variables (16 integer), 12 constraints\n" in told
    assert "AllDifferent    4       4    4     12\n" in told
    assert "NotEqual     24      24    8     56\n" in told
    other = scheduler("show", r"3x3:x(4\)(6\)(\3)..(\7)..", "--model", "exact-cover").stdout
    assert "not stored" in other
    assert "exact-cover: exact-cover does not support Sum" in other
    assert "beauty" in scheduler("show", "book:1", "--model", "beauty", code=2).stderr
    assert "nothing stored" in scheduler("show", "beauty", "--model", "cp-sat", code=2).stderr
    sizes = scheduler("report", "good", "--columns", "configuration,size").stdout
    assert "16 integer; 12 AllDifferent (4 row, 4 column, 4 box)" in sizes
