"""``scheduler worker --cores``: the leased cores, the cores of the worker, and the lists that are refused."""

from __future__ import annotations

import csv
import os
from pathlib import Path
from typing import Any

import psycopg
import pytest
from commanding import Scheduler, make_scheduler, until

from cagematch.workers.machine.topology import format_cores

PUZZLE = "53..7....6..195....98....6.8...6...34..8.3..17...2...6.6....28....419..5....8..79\n"


def facts_of_the_host(database: str) -> dict[str, Any]:
    """The facts that the only worker has stored."""
    with psycopg.connect(database.replace("+psycopg", "")) as connection:
        ((facts, reference_s),) = connection.execute(
            "SELECT facts, reference_s FROM host JOIN worker ON true"
        ).fetchall()
    assert 0 < reference_s < 1
    return facts


@pytest.mark.parametrize("listed", ["", "two", "3-1", "0,,1", "0,4000"])
def test_unavailable_cores(scheduler: Scheduler, listed: str) -> None:
    """A list with unavailable cores is refused, and the message lists the available ones."""
    told = scheduler("worker", "--pool", "all", "--cores", listed, code=2).stderr

    assert f"usable here: {format_cores(os.sched_getaffinity(0))}" in told


def test_cores_from_the_environment(tmp_path: Path, redis_url: str, postgres_url: str) -> None:
    """A list in the environment is checked as well."""
    services = {"CAGEMATCH_BROKER_URL": redis_url, "CAGEMATCH_DATABASE_URL": postgres_url, "CAGEMATCH_CORES": "4000"}
    command = make_scheduler(tmp_path, **services)
    command("db", "upgrade")

    assert "no core 4000" in command("worker", "--pool", "other", code=2).stderr


def test_cores_of_runs_and_worker(tmp_path: Path, redis_url: str, postgres_url: str) -> None:
    """Runs use only the listed cores, and the worker uses only the others."""
    first, *others = sorted(os.sched_getaffinity(0))
    if not others:
        pytest.skip("one core only")
    command = make_scheduler(tmp_path, CAGEMATCH_BROKER_URL=redis_url, CAGEMATCH_DATABASE_URL=postgres_url)
    (tmp_path / "mine.txt").write_text(PUZZLE)
    command("db", "upgrade")
    worker = command.start("worker", "--pool", "other", "--cores", str(first), "--log-level", "WARNING")
    try:
        command("submit", "mine.txt", "-s", "backtracking", "--repeat", 5, "--wait")

        assert worker.poll() is None
        until(lambda: os.sched_getaffinity(worker.pid) == set(others))
        command("export", "runs.csv")
        rows = csv.DictReader((tmp_path / "runs.csv").read_text().splitlines())
        assert [row["cores"] for row in rows] == [str(first)] * 5
        facts = facts_of_the_host(postgres_url)
        assert (facts["cores"], facts["core_list"]) == (1, str(first))
        assert facts["memory_limit"] in {"cgroup v1", "cgroup v2", "watch"}
    finally:
        command.close()
