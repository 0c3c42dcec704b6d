"""Killed, interrupted and cancelled batches: no process remains, and `resume` completes the other runs once."""

from __future__ import annotations

import signal

import pytest
from commanding import until
from looking import exported, report, rows, runs_stored

SLOW = ("-s", "pulp-cbc", "-s", "cp-min-size", "-s", "scip")
LIMIT = 60  # enough puzzles to outlast the start of the next command
TOTAL = 3 * LIMIT


def begin(scheduler, *words):
    """A `submit` that has stored some of its runs."""
    process = scheduler.start("submit", "hard", "--limit", LIMIT, *(words or SLOW))
    until(lambda: runs_stored(scheduler.folder) or process.poll() is not None, 120)
    assert process.poll() is None, process.communicate()
    return process


def finish(scheduler):
    """Resume, and check that every run is stored once."""
    told = scheduler("resume").stdout
    assert f"{TOTAL} of {TOTAL} runs" in told
    twice = "SELECT 1 FROM run GROUP BY configuration_id, puzzle_id, repeat HAVING count(*) > 1"
    assert rows(scheduler.folder, twice) == []
    assert runs_stored(scheduler.folder) == TOTAL
    assert all((row["runs"], row["wrong"], row["error"]) == (LIMIT, 0, 0) for row in report(scheduler))


@pytest.mark.smoke
@pytest.mark.slow
def test_killed_submit(scheduler):
    """A killed `submit` leaves no process, and its batch can be resumed."""
    process = begin(scheduler)

    process.kill()

    process.wait()
    until(lambda: not scheduler.processes(), 10)
    assert runs_stored(scheduler.folder) < TOTAL
    assert "interrupted" in scheduler("status").stdout
    assert "no process runs batch 1" in scheduler("watch", code=2).stderr
    finish(scheduler)


@pytest.mark.slow
@pytest.mark.parametrize("number", [signal.SIGINT, signal.SIGTERM])
def test_interrupted_submit(scheduler, number):
    """An interrupted `submit` ends soon and prints how to resume."""
    process = begin(scheduler)

    process.send_signal(number)

    _, said = process.communicate(timeout=20)
    assert process.returncode == 130
    assert "scheduler resume 1" in said
    assert "Traceback" not in said
    until(lambda: not scheduler.processes(), 5)
    finish(scheduler)


@pytest.mark.slow
def test_submit_cancelled_by_another_command(scheduler):
    """A `submit` whose batch is cancelled ends, and the batch can be resumed."""
    process = begin(scheduler)

    told = scheduler("cancel").stdout

    assert "runs cancelled" in told
    said, _ = process.communicate(timeout=60)
    assert process.returncode == 0
    assert "batch 1 cancelled at" in said
    assert "cancelled" in scheduler("status", "1").stdout
    assert "no unfinished runs to cancel" in scheduler("cancel").stdout
    finish(scheduler)


@pytest.mark.slow
def test_other_commands_during_a_submit(scheduler):
    """During a `submit`, other commands can read its batch but not change it."""
    process = begin(scheduler)

    told = scheduler("status").stdout
    refused = scheduler("resume", code=None)
    watched = scheduler("watch")

    process.communicate(timeout=240)
    assert process.returncode == 0
    if "active" in told:
        assert "worker " in told
    assert refused.code == 2 or "nothing left" in refused.stdout
    assert f"{TOTAL} of {TOTAL} runs" in watched.stdout
    assert len(exported(scheduler)) == TOTAL


def test_closed_output_during_a_submit(scheduler):
    """A closed standard output does not stop a `submit`."""
    process = scheduler.start("submit", "hard", "--limit", 3, "-s", "cp-min-size")
    process.stdout.close()
    process.stderr.close()

    process.wait(timeout=240)

    assert process.returncode == 0
    assert runs_stored(scheduler.folder) == 3


@pytest.mark.slow
def test_two_concurrent_resumes(scheduler):
    """Of two concurrent `resume` commands, one continues the batch and the other reports this."""
    process = begin(scheduler)
    process.kill()
    process.wait()
    until(lambda: not scheduler.processes(), 10)

    both = [scheduler.start("resume") for _ in range(2)]

    said = {each.communicate(timeout=240)[1] + str(each.returncode): each.returncode for each in both}
    refused = [told for told, code in said.items() if code == 2]
    assert sorted(said.values()) == [0, 2]
    assert "is using this database" in refused[0]
    assert runs_stored(scheduler.folder) == TOTAL
