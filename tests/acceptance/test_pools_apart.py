"""Two pools on one host at the same time: no two solves share a core."""

from __future__ import annotations

import os
import time
from collections import defaultdict
from pathlib import Path

import pytest
from commanding import until
from fleets import Fleet
from test_distributed import HARD, fleet  # noqa: F401 - the fixture

LOOKS = 20  # samples of the processes per query of the database
ENOUGH = 40  # samples in which both pools solved


@pytest.mark.slow
@pytest.mark.skipif(len(os.sched_getaffinity(0)) < 2, reason="needs two cores")
def test_no_two_pinned_solves_share_a_core(fleet: Fleet):  # noqa: F811
    for pool in ("legacy-cp", "mip"):
        fleet.start(pool, slots=2)
    fleet.wait_for_workers()
    fleet.command("submit", HARD, "-s", "cp-default", "-s", "scip", "--repeat", 50)

    both, shared = 0, []
    until(lambda: fleet.value("SELECT count(*) FROM run"))
    while both < ENOUGH and fleet.value("SELECT state FROM batch") == "active":
        for _ in range(LOOKS):
            solving = at_work(fleet.solving())
            both += len(solving) > 1
            shared += [pids for pids in solving.values() if len(pids) > 1]
    fleet.command("cancel")

    assert shared == []
    assert both >= ENOUGH


def at_work(sandboxes: list[int]) -> dict[str, list[int]]:
    """The sandboxes that ran in two consecutive samples, by the cores to which they are pinned.

    A sandbox that has just answered is not running: it waits for its next run before another slot leases its core.
    """
    first = {pid for pid in sandboxes if running(pid)}
    time.sleep(0.002)  # longer than an answer takes
    found = defaultdict(list)
    for pid in first:
        if running(pid):
            found[cores(pid)].append(pid)
    return dict(found)


def running(pid: int) -> bool:
    try:
        return Path(f"/proc/{pid}/stat").read_text().rpartition(")")[2].split()[0] == "R"
    except OSError:
        return False


def cores(pid: int) -> str:
    try:
        status = Path(f"/proc/{pid}/status").read_text()
    except OSError:
        return f"gone {pid}"
    return status.partition("Cpus_allowed_list:")[2].split()[0]
