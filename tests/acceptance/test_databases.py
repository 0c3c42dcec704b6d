"""Databases that do not exist, are read-only, or disappear."""

from __future__ import annotations

import os
import shutil
from collections.abc import Iterator

import pytest
from commanding import Scheduler, until
from looking import runs_stored

LOOKING = (["report"], ["status"], ["show", "hard:1"], ["export", "-"], ["watch"], ["solvers"])
# Runs a command as root without the capabilities that override the permissions of files.
POWERLESS = ("setpriv", "--bounding-set", "-dac_override,-dac_read_search", "--inh-caps", "-all")


@pytest.fixture
def bounded(scheduler: Scheduler) -> Iterator[Scheduler]:
    """The command, run by a user to whom the permissions of files apply, after a batch."""
    scheduler("submit", "hard", "-s", "cp-min-size", "--limit", 1)
    if os.geteuid() == 0:
        if not shutil.which(POWERLESS[0]):
            pytest.skip("permissions do not bind root, and there is no setpriv")
        scheduler.command[:0] = POWERLESS
    yield scheduler
    scheduler.folder.chmod(0o755)


@pytest.mark.parametrize(("folder", "file"), [(0o555, 0o444), (0o755, 0o444), (0o555, 0o644)])
@pytest.mark.slow
def test_reading_from_a_read_only_folder(bounded, folder, file):
    """Commands that only read work where nothing may be written."""
    (bounded.folder / "scheduler.db").chmod(file)
    bounded.folder.chmod(folder)

    for words in LOOKING:
        bounded(*words)

    assert "1 of 1 runs: 1 solved" in bounded("status").stdout
    assert "scheduler.db or its folder is not writable" in bounded("submit", "hard", code=2).stderr
    assert [path.name for path in bounded.folder.iterdir()] == ["scheduler.db"]


def test_unreadable_database(bounded):
    """The message names the database and the cause."""
    database = bounded.folder / "scheduler.db"
    database.chmod(0)
    assert "scheduler.db cannot be read: permission denied" in bounded("report", code=2).stderr

    database.chmod(0o444)
    (bounded.folder / "scheduler.db-wal").write_bytes(b"journal")
    bounded.folder.chmod(0o555)
    told = bounded("report", code=2).stderr
    assert "scheduler.db cannot be read: " in told
    assert "another process is writing" in told


def test_unreadable_folder(bounded):
    """A folder without read permission is not reported as empty."""
    closed = bounded.folder / "closed"
    closed.mkdir(mode=0)

    assert "closed/mine.txt cannot be read: permission denied" in bounded("submit", "closed/mine.txt", code=2).stderr


def test_reading_creates_no_database(scheduler):
    for words in LOOKING:
        scheduler(*words, code=None)

    assert not list(scheduler.folder.iterdir())


def test_solvers_without_a_database(scheduler):
    scheduler.environment["CAGEMATCH_BROKER_URL"] = "redis://127.0.0.1:1/0"
    scheduler.environment["CAGEMATCH_DATABASE_URL"] = "postgresql://me@127.0.0.1:1/none"

    told = scheduler("solvers")

    assert "live slots unknown" in told.stderr
    assert "cp-sat" in told.stdout


def test_database_removed_during_a_batch(scheduler):
    """A batch reports that its database has been removed."""
    process = scheduler.start("submit", "hard", "-s", "pulp-cbc", "--timeout", "60s")
    until(lambda: runs_stored(scheduler.folder) or process.poll() is not None, 120)

    for path in scheduler.folder.glob("scheduler.db*"):
        path.unlink()

    said, told = process.communicate(timeout=60)
    assert process.returncode == 1
    assert "scheduler.db was removed or replaced" in told
    assert "Traceback" not in said + told
    until(lambda: not scheduler.processes(), 10)
