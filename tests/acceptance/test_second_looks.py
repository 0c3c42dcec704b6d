"""Verdicts at the end of a batch and over several batches."""

from __future__ import annotations

import csv

import pytest
from commanding import ROOT, make_scheduler

PROPER, OTHER, NONE = "12...4....3...2.", "1234341221434321", "123........4...."
# A backend that reports every puzzle as unsolvable.
REFUTER = """
from cagematch.problems.constraints import AllDifferent
from cagematch.problems.outcome import Task
from cagematch.workers.backends.contract import REFUTED, Found, Size

HANDLES, TASKS, STATUS, PARAMETERS = (AllDifferent,), (Task.SOLVE,), {"no": REFUTED}, {}


def version():
    return "1"


def size(rules, settings):
    return Size({}, {})


def build(problem, order):
    return None


def search(model, limit_s):
    return Found("no")
"""


@pytest.fixture
def refuted(tmp_path):
    """The command, with that backend installed."""
    folder, packages = tmp_path / "work", tmp_path / "packages"
    about = packages / "refuter-1.0.dist-info"
    about.mkdir(parents=True)
    folder.mkdir()
    (packages / "refuter_backend.py").write_text(REFUTER)
    (about / "METADATA").write_text("Metadata-Version: 2.1\nName: refuter\nVersion: 1.0\n")
    (about / "entry_points.txt").write_text("[cagematch.backends]\nrefuter = refuter_backend\n")
    made = make_scheduler(folder, PYTHONPATH=f"{packages}:{ROOT}")
    yield made
    made.close()


def test_contradicting_solvers(refuted):
    """A batch in which one solver refutes another ends with exit code 1."""
    (refuted.folder / "mine.txt").write_text(f"{PROPER}\n{OTHER}\n")

    told = refuted("submit", "mine.txt", "-s", "refuter", "-s", "cp-min-size", code=1).stderr

    assert "2 runs are WRONG: solutions of other runs refute the answer" in told


def test_corrected_file(scheduler):
    """A corrected file is judged by its current puzzles."""
    book = scheduler.folder / "book.txt"
    book.write_text(f"{PROPER}\n{NONE}\n")
    scheduler("submit", "book.txt", "--task", "unique", "-s", "cp-min-size", code=1)
    book.write_text(f"{PROPER}\n{OTHER}\n")
    scheduler("submit", "book.txt", "--task", "unique", "-s", "cp-min-size")

    assert "2 puzzles, each with exactly one solution" in scheduler("report").stderr
    assert "2 puzzles, NOT PROPER: 1 no solution" in scheduler("report", 1, code=1).stderr


def test_contradicting_clues(scheduler):
    """A grid with the same value twice in a unit can be repaired; other tasks refuse it."""
    (scheduler.folder / "typo.txt").write_text("11...4....3...2.\n")
    (scheduler.folder / "square.txt").write_text("# kind: latin\n1.1.2....\n")

    scheduler("submit", "typo.txt", "square.txt", "--task", "repair", "-s", "cp-sat-fast")
    found = csv.DictReader(scheduler("report", "--table", "repairs", "--format", "csv").stdout.splitlines())

    assert [(row["place"], row["found"], row["changes"]) for row in found] == [
        ("square:1", "repaired", "1"),
        ("typo:1", "repaired", "1"),
    ]
    assert "1 appears twice in row 1" in scheduler("submit", "typo.txt", code=2).stderr


def test_count_with_a_timeout(scheduler):
    """A count that ended by a timeout is not reported as over its bound."""
    (scheduler.folder / "empty.txt").write_text("." * 256 + "\n")

    scheduler("submit", "empty.txt", "--task", "count", "-s", "cp-min-size", "--timeout", "300ms", "--bound", 10**9)
    scheduler("submit", "empty.txt", "--task", "count", "-s", "cp-min-size", "--bound", 3)

    (late,) = csv.DictReader(scheduler("report", 1, "--table", "counts", "--format", "csv").stdout.splitlines())
    (bound,) = csv.DictReader(scheduler("report", 2, "--table", "counts", "--format", "csv").stdout.splitlines())
    assert late["found"] == "undecided"
    assert (bound["found"], bound["at_least"]) == ("over bound", "3+")


def test_the_version_needs_no_command(scheduler):
    assert scheduler("--version").stdout.startswith("cagematch ")


def test_permuting_a_kind_without_symmetries(scheduler):
    told = scheduler("submit", "queens", "-s", "cp-min-size", "--limit", 1, "--permute").stderr

    assert "--permute has no effect on puzzles of kind queens" in told
