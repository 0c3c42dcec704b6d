"""Invalid input and unsuitable services: a message with the value found, exit code 2, and nothing stored."""

from __future__ import annotations

import os
import sqlite3
import subprocess
from contextlib import closing

import pytest
from looking import stored

GOOD = "..3.2.6..9..3.5..1..18.64....81.29..7.......8..67.82....26.95..8..2.3..9..5.1.3.."
OTHER = "2...8.3...6..7..84.3.5..2.9...1.54.8.........4.27.6...3.1..7.4.72..4..6...4.1...3"
FAULTY = {
    "80 characters": (f"{GOOD}\n{GOOD[:80]}\n", ":2"),
    "a digit twice in a row": (f"{GOOD}\n\n33{GOOD[2:]}\n", ":3"),
    "letters": (f"# ok\n{GOOD}\nABC{GOOD[3:]}\n", ":3"),
    "nothing": ("", "contains no puzzle"),
    "only comments": ("# nothing\n\n", "contains no puzzle"),
}


@pytest.mark.parametrize("case", FAULTY)
def test_faulty_file(scheduler, case):
    """A faulty file is refused with the line of the fault, and nothing is stored."""
    content, expected = FAULTY[case]
    (scheduler.folder / "bad.txt").write_text(content)

    told = scheduler("submit", "hard", "bad.txt", code=2)

    assert "bad.txt" in told.stderr
    assert expected in told.stderr
    assert not any(stored(scheduler.folder).values())


def test_a_binary_file_is_refused(scheduler):
    (scheduler.folder / "bad.txt").write_bytes(bytes(range(256)) * 50)

    assert "bad.txt" in scheduler("submit", "bad.txt", code=2).stderr
    assert not any(stored(scheduler.folder).values())


def test_missing_files_and_folders_are_refused(scheduler):
    (scheduler.folder / "folder").mkdir()

    assert "nowhere.txt" in scheduler("submit", "nowhere.txt", code=2).stderr
    assert "is a folder" in scheduler("submit", "folder", code=2).stderr
    assert not any(stored(scheduler.folder).values())


def test_paths_that_are_not_regular_files(scheduler):
    """Pipes and standard input are read. A device, an empty path and an empty input are refused."""
    os.mkfifo(scheduler.folder / "pipe")
    with subprocess.Popen(["sh", "-c", f"echo {GOOD} > pipe"], cwd=scheduler.folder):
        assert "pipe: 1 puzzle" in scheduler("submit", "pipe", "--limit", 0).stderr
    assert "stdin: 1 puzzle" in scheduler("submit", "-", "--limit", 0, stdin=GOOD + "\n").stderr

    assert "standard input:1" in scheduler("submit", "-", stdin="123\n", code=2).stderr
    assert "standard input contains no puzzle" in scheduler("submit", "-", code=2).stderr
    assert "/dev/null is a device" in scheduler("submit", "/dev/null", code=2).stderr
    assert "is empty" in scheduler("submit", "", code=2).stderr


def test_spreadsheet_file(scheduler):
    """Only the first column of a CSV file is read. Rows without a puzzle there are refused, or skipped."""
    (scheduler.folder / "some.csv").write_text(f"id,puzzle\n1,{GOOD}\n")

    assert "only the first column of a CSV file is read" in scheduler("submit", "some.csv", code=2).stderr
    told = scheduler("submit", "some.csv", "--skip-invalid", code=2).stderr
    assert "some.csv:1: " in told
    assert "(no valid puzzle in some.csv)" in told
    (scheduler.folder / "first.csv").write_text(f"puzzle,solution\n{GOOD},1\n")
    told = scheduler("submit", "first.csv", "--skip-invalid", "--limit", 0).stderr
    assert "first.csv:1: " in told
    assert "first: 1 puzzle, 1 skipped" in told


def test_ten_faults_of_many_are_named(scheduler):
    (scheduler.folder / "bad.txt").write_text("123\n" * 30)

    told = scheduler("submit", "bad.txt", code=2).stderr

    assert "bad.txt:10" in told
    assert "bad.txt:11" not in told
    assert "20 more" in told


def test_skip_invalid(scheduler):
    """`--skip-invalid` stores the valid puzzles and lists the skipped ones."""
    (scheduler.folder / "some.txt").write_text(f"{GOOD}\n{GOOD[:80]}\n{OTHER}\n")

    told = scheduler("submit", "some.txt", "-s", "cp-min-size", "--skip-invalid").stderr

    assert "skipped: some.txt:2" in told
    assert "2 puzzles, 1 skipped" in told
    assert stored(scheduler.folder)["run"] == 2


WRONG = {
    "configuration": (["submit", "hard", "-s", "nobody"], "nobody"),
    "parameter": (["submit", "hard", "-s", "cp-sat:speed=9"], "speed"),
    "value": (["submit", "hard", "-s", "cp-sat:workers=many"], "many"),
    "group": (["submit", "hard", "-s", "@nobody"], "@nobody"),
    "kind": (["submit", "hard", "--kind", "chess"], "chess"),
    "format": (["submit", "hard", "--format", "paper"], "paper"),
    "report format": (["report", "--format", "paper"], "paper"),
    "export format": (["export", "runs.xls"], ".xls"),
    "export kind": (["export", "-", "--format", "xls"], "xls"),
    "pool": (["worker", "--pool", "swimming"], "swimming"),
    "batch": (["status", "nothing"], "nothing"),
    "batch number": (["report", "99"], "99"),
    "long number": (["report", "9" * 40], "9999"),
    "odd number": (["cancel", "²"], "²"),
    "run": (["show", "99"], "99"),
    "puzzle": (["show", "hard:0"], "hard:0"),
    "no batch": (["watch"], "there are no batches"),
    "no runs": (["report"], "no runs"),
    "time": (["submit", "hard", "--timeout", "soon"], "soon"),
    "no time": (["submit", "hard", "--timeout", "0"], "'0'"),
    "endless time": (["submit", "hard", "--timeout", "1" * 400], "expected a duration"),
    "long time": (["submit", "hard", "--timeout", "999h"], "a week"),
    "name": (["submit", "hard", "--name", ""], "batch name ''"),
    "columns": (["report", "--columns", ""], "no runs"),
    "export without a file": (["export", "17"], "`scheduler export 17 runs.csv`"),
    "size": (["submit", "hard", "--memory", "much"], "much"),
    "repeat": (["submit", "hard", "--repeat", "0"], "repeat"),
    "seed": (["submit", "hard", "--seed", "-1"], "seed"),
    "nothing": (["submit"], "--to"),
    "command": (["solve"], "solve"),
}


@pytest.mark.parametrize("case", WRONG)
def test_what_does_not_exist_is_named(scheduler, case):
    words, named = WRONG[case]

    told = scheduler(*words, code=2)

    assert named in told.stderr
    assert not any(stored(scheduler.folder).values())


def test_one_address_without_the_other_is_refused(scheduler):
    scheduler.environment["CAGEMATCH_BROKER_URL"] = "redis://127.0.0.1:1/0"

    told = scheduler("status", code=2).stderr

    assert "CAGEMATCH_DATABASE_URL" in told


def test_sqlite_with_a_shared_broker_is_refused(scheduler):
    scheduler.environment["CAGEMATCH_BROKER_URL"] = "redis://127.0.0.1:1/0"
    scheduler.environment["CAGEMATCH_DATABASE_URL"] = "sqlite:///mine.db"

    assert "SQLite" in scheduler("submit", "hard", code=2).stderr
    assert not list(scheduler.folder.iterdir())


def test_dotenv_in_the_working_folder_is_read(scheduler):
    (scheduler.folder / ".env").write_text(
        "CAGEMATCH_DATABASE_URL=sqlite:///mine.db\nCAGEMATCH_BROKER_URL='memory://'\n"
    )

    scheduler("submit", "hard", "--limit", 0)

    assert (scheduler.folder / "mine.db").exists()
    assert not (scheduler.folder / "scheduler.db").exists()


@pytest.mark.slow
def test_a_password_is_not_shown(scheduler):
    scheduler.environment["CAGEMATCH_BROKER_URL"] = "redis://:hush@127.0.0.1:1/0"
    scheduler.environment["CAGEMATCH_DATABASE_URL"] = "postgresql://me:hush@127.0.0.1:1/none"

    told = scheduler("status", code=2)

    assert "hush" not in told.text
    assert "database" in told.stderr


def test_an_embedded_worker_is_refused(scheduler):
    assert "CAGEMATCH_BROKER_URL" in scheduler("worker", "--pool", "all", code=2).stderr


FOREIGN = "CREATE TABLE theirs (id INTEGER); INSERT INTO theirs VALUES (1);"
NEWER = "CREATE TABLE cagematch_version (version_num VARCHAR(32)); INSERT INTO cagematch_version VALUES ('9999');"


@pytest.mark.parametrize(("script", "said"), [(FOREIGN, "was not changed"), (NEWER, "newer")])
def test_database_of_another_program(scheduler, script, said):
    """The database of another program is refused and not changed."""
    path = scheduler.folder / "scheduler.db"
    with closing(sqlite3.connect(path)) as connection:
        connection.executescript(script)
        before = list(connection.iterdump())

    for words in (["submit", "hard"], ["status"], ["db", "check"], ["db", "upgrade"]):
        assert said in scheduler(*words, code=2).stderr

    with closing(sqlite3.connect(path)) as connection:
        assert list(connection.iterdump()) == before


def test_a_file_that_is_no_database_is_refused(scheduler):
    (scheduler.folder / "scheduler.db").write_text("This is a letter, not a database. " * 100)

    assert "database" in scheduler("status", code=2).stderr


def test_invalid_lock_folder(scheduler):
    """An invalid lock folder is refused before any process waits."""
    scheduler.environment["CAGEMATCH_LOCKS"] = "/etc/passwd"

    told = scheduler("submit", "easy", "-s", "cp-min-size", "--limit", "1", code=2)

    assert "set CAGEMATCH_LOCKS" in told.stderr
    assert "Traceback" not in told.stderr
