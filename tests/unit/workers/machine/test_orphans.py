"""Processes that remain when a keeper and its worker are killed at the same moment."""

from __future__ import annotations

import os
import signal
import subprocess
import sys
from collections.abc import Callable
from pathlib import Path

import pytest
from hostile.keepers import HARD, ROOT, until
from hostile.working import Worker

from cagematch.workers.machine.orphans import KEEPER, end_orphans, identity, is_gone
from cagematch.workers.machine.processes import usage

LARGE = (ROOT / "puzzles/25x25.txt").read_text().splitlines()[1].split()[0]  # CBC searches it for long.


def kill_both(worker: Worker) -> None:
    """Kill keeper and worker; the worker is suspended first, so that it cannot react."""
    worker.process.send_signal(signal.SIGSTOP)
    os.kill(worker.keeper, signal.SIGKILL)
    worker.kill()


def searches(worker: Worker) -> list[int]:
    """CBC processes in a long search, unlike the warm-up's."""
    running = {pid: used for pid in worker.left() if (used := usage(pid)) and used.cpu_s > 0.3}
    return [pid for pid in running if Path(f"/proc/{pid}/cmdline").read_bytes().split(b"\0")[0].endswith(b"/cbc")]


def daemons(worker: Worker) -> list[int]:
    """Processes in another session than the worker, the keeper and its sandbox."""
    known = {worker.keeper, os.getsid(0)}
    return [pid for pid in worker.left() if os.getsid(pid) not in known]


@pytest.mark.parametrize(
    ("configuration", "text", "started"),
    [("pulp-cbc", LARGE, searches), ("hostile:do=daemon-and-hang", HARD, daemons)],
)
def test_orphans_end_before_the_next_solve(
    tmp_path: Path, configuration: str, text: str, started: Callable[[Worker], list[int]]
) -> None:
    worker = Worker(tmp_path, 1, configuration, text=text)
    until(lambda: started(worker), 30.0)
    kill_both(worker)
    until(lambda: len(worker.left()) == len(started(worker)))
    assert worker.left()

    following = Worker(tmp_path, 1, "hostile")

    assert following.line().startswith("leased")
    assert worker.left() == []
    following.kill()


def test_only_orphans_of_a_dead_keeper_are_killed() -> None:
    with subprocess.Popen(["sleep", "60"]) as dead:
        gone = identity(dead.pid)
        assert not is_gone(gone)
        dead.kill()
    namespace, pid, start = identity(os.getpid()).split(".")
    other_namespace = f"1.{pid}.{start}"  # A PID of another namespace may be alive.
    mine, reused = identity(os.getpid()), f"{namespace}.{pid}.1"  # An earlier process with the same PID.
    owners = {gone: True, reused: True, mine: False, other_namespace: False, "rubbish": False, "": False}
    started = {name: subprocess.Popen(["sleep", "60"], env={KEEPER: name}) for name in owners}

    end_orphans()

    for name, process in started.items():
        assert (process.poll() is not None) == owners[name], name
        process.kill()
        process.wait()


def test_a_zombie_has_no_identity() -> None:
    with subprocess.Popen([sys.executable, "-c", ""]) as dead:
        os.waitid(os.P_PID, dead.pid, os.WEXITED | os.WNOWAIT)

        assert identity(dead.pid) == ""
