"""`verify`: solutions in files, checked by the rules and by the models of solvers."""

from __future__ import annotations

import json
from pathlib import Path

import pytest
from commanding import ROOT, make_scheduler

DATA = ROOT / "tests" / "data"
P = "..3.2.6..9..3.5..1..18.64....81.29..7.......8..67.82....26.95..8..2.3..9..5.1.3.."
S = "483921657967345821251876493548132976729564138136798245372689514814253769695417382"
SHIFTED = "".join("123456789"[at:] + "123456789"[:at] for at in range(9))  # valid rows and columns, invalid boxes
RELAXED = {"clp", "glop", "pdlp"}  # may answer `unknown`
# A backend whose model has no boxes, or contradictory constraints, or a variable without a value.
FAULTY = """
from cagematch.problems.constraints import Less
from cagematch.problems.problem import Problem, Rules
from cagematch.workers.backends.contract import Parameter
from cagematch.workers.backends.propagation import HANDLES, STATUS, TASKS, search, size, version
from cagematch.workers.backends import propagation

PARAMETERS = propagation.PARAMETERS | {"fault": Parameter("lacks", ("lacks", "invents", "forgets"))}


def build(problem, order):
    constraints, givens = problem.constraints, problem.givens
    if order.settings["fault"] == "lacks":
        constraints = tuple(c for c in constraints if c.role != "box")
    if order.settings["fault"] == "invents":
        constraints += (Less((0, 1), "sign"), Less((1, 0), "sign"))
    if order.settings["fault"] == "forgets":
        constraints, givens = (), givens[1:]
    rules = Rules(problem.rules.domains, constraints)
    return propagation.build(Problem(rules, givens), order)
"""


@pytest.fixture
def faulty(tmp_path):
    """The command, with an installed backend whose model has a fault."""
    folder = tmp_path / "work"
    packages = tmp_path / "packages"
    information = packages / "faulty-1.0.dist-info"
    information.mkdir(parents=True)
    folder.mkdir()
    (packages / "faulty_backend.py").write_text(FAULTY)
    (information / "METADATA").write_text("Metadata-Version: 2.1\nName: faulty\nVersion: 1.0\n")
    (information / "entry_points.txt").write_text("[cagematch.backends]\nfaulty = faulty_backend\n")
    made = make_scheduler(folder, PYTHONPATH=f"{packages}:{ROOT}")
    yield made
    made.close()


def write(folder: Path, name: str, *lines: str) -> None:
    (folder / name).write_text("".join(f"{line}\n" for line in lines))


def test_correct_solutions(scheduler):
    """Correct solutions give exit code 0 and one line per file."""
    write(scheduler.folder, "mine.txt", f"{P} {S}", f"{P}")

    told = scheduler("verify", "killer", "mine.txt", DATA / "latin.txt", "--kind", "latin", code=2).stderr
    assert "of kind killer, but --kind is latin" in told

    lines = scheduler("verify", "killer", "mine.txt").stdout.splitlines()
    assert lines[0].startswith("killer (shipped): 156 of 156 solutions are correct")
    assert lines[1] == "mine.txt: 1 of 1 solution is correct (skipped 1 puzzle without a solution)"
    assert not (scheduler.folder / "scheduler.db").exists()


def test_wrong_solutions(scheduler):
    """Wrong solutions are listed with their reasons, and the exit code is 1."""
    write(scheduler.folder, "mine.csv", "quizzes,solutions", f"{P},{S}", f"{P},{SHIFTED}", f"{P},{S[1:]}")

    told = scheduler("verify", "mine.csv", code=1).stdout

    assert "mine.csv:3: wrong\n    r1c5 is 5, but the puzzle gives 2\n" in told
    assert "mine.csv:4: wrong\n    the solution has 80 characters, expected 81\n" in told
    assert told.splitlines()[-1] == "mine.csv: 1 of 3 solutions are correct"


def test_json_output(scheduler):
    """The JSON output is one object per line and nothing else."""
    objects = [{"id": "[red]one", "puzzle": P, "solution": S}, {"puzzle": "." * 81, "solution": SHIFTED}]
    lines = "\n".join(map(json.dumps, objects))

    # The library of HiGHS prints a banner to the standard output.
    result = scheduler("verify", "-", "--json", "--by", "highs", code=1, stdin=lines)

    right, wrong = map(json.loads, result.stdout.splitlines())
    assert (right["file"], right["line"], right["label"]) == ("standard input", 1, "[red]one")
    assert (right["correct"], right["reasons"], right["by"]["agrees"]) == (True, [], True)
    assert (wrong["correct"], wrong["by"]["response"], wrong["by"]["agrees"]) == (False, "rejects", True)
    assert wrong["reasons"][0].startswith("box: ")
    assert "1 of 2 solutions are correct; highs agrees on 2 of 2" in result.stderr


def test_what_export_writes_is_read(scheduler):
    write(scheduler.folder, "mine.txt", f"{P} here", "." * 81)
    scheduler("submit", "mine.txt", "killer", "queens", "-s", "propagation", "--limit", 2, "--timeout", "500ms")
    for name in ("runs.csv", "runs.jsonl"):
        scheduler("export", name)

    by_csv, by_jsonl = scheduler("verify", "runs.csv", "runs.jsonl", "--by", "cp-sat:workers=1").stdout.splitlines()

    assert by_csv.removeprefix("runs.csv") == by_jsonl.removeprefix("runs.jsonl")
    assert "solutions are correct; cp-sat:workers=1 agrees on " in by_csv


@pytest.mark.slow
def test_every_installed_backend_agrees_with_the_rules(scheduler):
    cases = [line for line in (DATA / "small.txt").read_text().splitlines() if line.count(":1:")]
    swapped = [line[:-2] + line[-1] + line[-2] for line in cases]
    blank = [f"{'.' * 16} {line[-16:]}" for line in swapped if len(line) == 16 + 3 + 16]
    write(scheduler.folder, "small.txt", *cases, *swapped, *blank)
    assert blank

    backends = json.loads(scheduler("solvers", "--json").stdout)["backends"]
    for backend in [b["backend"] for b in backends if b["version"]]:
        told = scheduler("verify", "small.txt", "--by", backend, code=1).stdout

        assert "DISAGREE" not in told, backend
        assert backend in RELAXED or "gives no answer" not in told, backend


@pytest.mark.parametrize(
    ("fault", "solution", "expected"),
    [
        ("lacks", SHIFTED, "DISAGREEMENT: faulty accepts it"),
        ("invents", S, "DISAGREEMENT: faulty:fault=invents rejects it"),
        ("forgets", S, "DISAGREEMENT: faulty:fault=forgets changes it"),
    ],
)
def test_a_fault_in_a_model_is_found(faulty, fault, solution, expected):
    write(faulty.folder, "mine.txt", f"{'.' * 81} {solution}")

    told = faulty("verify", "mine.txt", "--by", f"faulty:fault={fault}", code=1).stdout

    assert expected in told
    assert "DISAGREES on 1" in told


@pytest.mark.parametrize(
    ("words", "expected"),
    [
        (["killer", "--by", "exact-cover"], "exact-cover does not support Sum, which this puzzle of kind killer needs"),
        (["killer", "--by", "minizinc-chuffed"], "not installed: minizinc-chuffed. To install: "),
        (["killer", "--by", "cplex"], "unknown backend 'cplex'"),
        (["killer", "--by", "@core"], "expands to 8 configurations, expected one"),
        (["killer", "--kind", "chess"], "unknown kind of puzzle 'chess'"),
        (["hard"], "contains 95 puzzles and no solution"),
        (["nowhere.txt"], "there is no file 'nowhere.txt'"),
        ([], "Missing argument"),
    ],
)
def test_what_cannot_be_checked_is_refused(scheduler, words, expected):
    result = scheduler("verify", *words, code=2)

    assert expected in result.stderr
    assert not result.stdout
