"""`scheduler submit` and `scheduler report`, embedded: the first commands of a user."""

from __future__ import annotations

import pytest
from looking import HARD, exported, report, rows, stored

EASY = "..3.2.6..9..3.5..1..18.64....81.29..7.......8..67.82....26.95..8..2.3..9..5.1.3.."


@pytest.mark.smoke
@pytest.mark.slow
def test_default_configurations_solve_all_hard_puzzles(scheduler):
    told = scheduler("submit", "hard", "--timeout", "60s").stdout  # the default is too short for a slow machine

    assert "380 of 380 runs (380 solved)" in told
    found = report(scheduler)
    assert {row["configuration"] for row in found} == {"cp-sat", "cp-min-size", "scip", "cbc"}
    assert all((row["set"], row["solved"], row["runs"], row["wrong"]) == ("hard", 95, 95, 0) for row in found)
    assert all(row["verdict"] == "correct" for row in exported(scheduler))


@pytest.mark.slow
def test_report_of_three_sets(scheduler):
    """The report has one block per set, each with every configuration of `@core`."""
    scheduler("submit", "easy", "medium", str(HARD), "-s", "@core", "--limit", 2, "--timeout", "1s")

    text = scheduler("report").stdout
    found = report(scheduler)
    assert [line.split("  ")[0] for line in text.splitlines() if "  2 puzzles" in line] == ["easy", "hard", "medium"]
    assert len(found) == 3 * 8
    assert {row["configuration"] for row in found} >= {"backtracking", "pulp-cbc", "cp-default", "cp-simple"}
    assert not any(row["wrong"] or row["error"] for row in found)


@pytest.mark.slow
def test_impossible_puzzle(scheduler):
    """Every complete backend answers `none` for an impossible puzzle."""
    impossible = "5" + EASY[1:]  # the clues do not contradict each other, but the solution has a 4 there
    (scheduler.folder / "none.txt").write_text(impossible + "\n")

    scheduler("submit", "none.txt", "-s", "@core", "--timeout", "200s")  # for a busy machine

    assert {row["status"] for row in exported(scheduler)} == {"no solution"}
    assert "no solution" in scheduler("report").stdout
    told = scheduler("show", "none:1").stdout
    assert "no verified solution is stored\n8 configurations claim that there is no solution: backtracking, " in told


def test_same_file_in_two_batches(scheduler):
    """Two batches of the same file have separate runs."""
    (scheduler.folder / "one.txt").write_text(EASY + "\n")

    scheduler("submit", "one.txt", "one.txt", "-s", "cp-min-size")
    scheduler("submit", "one.txt", "-s", "cp-min-size")

    assert stored(scheduler.folder) == {"puzzle": 1, "puzzle_set": 1, "set_entry": 1, "batch": 2, "shard": 2, "run": 2}
    assert report(scheduler)[0]["runs"] == 1


def test_repeat_runs_each_puzzle_again_with_another_seed(scheduler):
    scheduler("submit", "hard", "-s", "cp-min-size", "--limit", 4, "--repeat", 3, "--seed", 7)

    found = exported(scheduler)
    assert sorted((row["repeat"], row["seed"]) for row in found) == sorted([("0", "7"), ("1", "8"), ("2", "9")] * 4)


def test_seed(scheduler):
    """The seed changes the order of the runs, but not the results."""
    for seed in (1, 2, 1):
        scheduler("submit", "hard", "-s", "cp-min-size", "--limit", 12, "--seed", seed)

    stored_order = rows(scheduler.folder, "SELECT batch_id, puzzle_id FROM batch_puzzle ORDER BY batch_id, position")
    orders = [[puzzle for batch, puzzle in stored_order if batch == number] for number in (1, 2, 3)]
    assert orders[0] == orders[2] != orders[1]
    assert sorted(orders[0]) == sorted(orders[1])
    solutions = [{(r["puzzle"], r["solution"]) for r in exported(scheduler, batch)} for batch in ("1", "2")]
    assert solutions[0] == solutions[1]


def test_limit_zero_loads_and_runs_nothing(scheduler):
    scheduler("submit", "hard", "--limit", 0)

    assert stored(scheduler.folder) | {"batch": 0, "run": 0} == stored(scheduler.folder)
    assert stored(scheduler.folder)["set_entry"] == 95


def test_batch_name(scheduler):
    """A name identifies its batch and is unique."""
    scheduler("submit", "hard", "-s", "cp-min-size", "--limit", 1, "--name", "first try [red]")

    assert "first try [red]" in scheduler("status").stdout
    assert report(scheduler, "first")[0]["solved"] == 1
    for name in ("first try [red]", "12", " ", "x" * 300):
        assert "called" in (told := scheduler("submit", "easy", "--name", name, code=2).stderr) or "too long" in told
    assert stored(scheduler.folder)["puzzle_set"] == 1


def test_to_adds_configurations_to_a_batch(scheduler):
    scheduler("submit", "hard", "-s", "cp-min-size", "--limit", 3)

    scheduler("submit", "--to", 1, "-s", "cp-simple", "-s", "cp-min-size")

    assert sorted(row["configuration"] for row in exported(scheduler, "1")) == ["cp-min-size"] * 3 + ["cp-simple"] * 3
    assert "already" in scheduler("submit", "--to", 1, "-s", "cp-simple").stderr
    assert "--timeout cannot be combined with --to" in scheduler("submit", "--to", 1, "--timeout", "5s", code=2).stderr
    assert "expected one of them" in scheduler("submit", "hard", "--to", 1, code=2).stderr


def test_timeout(scheduler):
    """A timeout excludes a configuration from the ranking, but the exit code is 0."""
    scheduler("submit", "hard", "-s", "backtracking", "-s", "cp-min-size", "--limit", 2, "--timeout", "100ms")

    (best, worst) = report(scheduler)
    assert (best["configuration"], best["ratio"]) == ("cp-min-size", 1.0)
    assert (worst["configuration"], worst["timeout"], worst["ratio"]) == ("backtracking", 2, None)
    assert "disqualified" in scheduler("report").stdout


def test_memory_limit_is_kept(scheduler):
    scheduler("submit", "hard", "-s", "scip", "--limit", 1, "--memory", "20MiB")

    assert report(scheduler)[0]["memout"] == 1


def test_batches_with_other_limits(scheduler):
    """The report lists the batches that it skips because of their limits."""
    for limit in ("3s", "10s"):
        scheduler("submit", "hard", "-s", "cp-min-size", "--limit", 1, "--timeout", limit)

    for command, *file in (("report",), ("export", "-")):
        told = scheduler(command, *file).stderr
        assert "batch 1 excluded: different limits (3 s, 2 GiB); report it with `scheduler report 1`" in told
        assert "excluded" not in scheduler(command, 1, *file).stderr
        assert "excluded" in scheduler(command, "--help").stdout
