"""The resources of a run, compared with the figures of GNU time and BenchExec's runexec for the same run.

Both programs run between the sandbox and the measured program. Their own use is measured with ``true`` and subtracted.
The test compares meters, not speeds, so the load of the machine does not matter.
"""

from __future__ import annotations

import json
import os
import re
import shutil
import subprocess
import sys
from collections.abc import Callable
from dataclasses import dataclass
from operator import attrgetter
from pathlib import Path

import pytest
from hostile.keepers import HARD, ROOT, keeper_client, run

from cagematch.workers.keeper.client import KeeperClient
from cagematch.workers.messages.protocol import BatchLimits

HOSTILE = ROOT / "tests" / "hostile"
LIMITS = BatchLimits(120.0, 4000)
WORK = [sys.executable, str(HOSTILE / "workload.py")]
SOLVE = [sys.executable, str(HOSTILE / "solve.py")]


@dataclass(frozen=True)
class Workload:
    """A program. ``shared``: much of its memory is libraries, whose loaded pages a cgroup does not count."""

    command: list[str]
    processes: int = 1
    shared: bool = False


WORKLOADS = {
    "3 s and 300 MiB": Workload([*WORK, "3", "300", "1"]),
    "1.5 s and 100 MiB in each of three processes": Workload([*WORK, "1.5", "100", "3"], processes=3),
    "searches of SCIP": Workload([*SOLVE, "scip", HARD, "8"], shared=True),
    "searches of CBC, which PuLP starts": Workload([*SOLVE, "pulp-cbc", HARD, "8"], processes=2, shared=True),
}
CLOSE, CLOSE_MEMORY = 0.05, 0.10
pytestmark = pytest.mark.slow


@dataclass(frozen=True)
class Used:
    """Seconds and MiB. ``summed``: the memory of all processes, not of the largest one."""

    cpu_s: float
    wall_s: float
    peak_mib: float
    summed: bool = True

    def __sub__(self, other: Used) -> Used:
        return Used(self.cpu_s - other.cpu_s, self.wall_s - other.wall_s, self.peak_mib - other.peak_mib, self.summed)


@dataclass(frozen=True)
class Meter:
    """A program that runs another one and reports its use."""

    command: list[str]
    read: Callable[[], Used]


def gnu_time(folder: Path) -> Meter:
    """GNU time, not the keyword of the shell. Its memory is that of the largest process."""
    program = shutil.which("time")
    if program is None or b"GNU" not in subprocess.run([program, "--version"], capture_output=True, check=False).stdout:
        pytest.skip("GNU time is not installed (apt-get install time)")
    told = folder / "time.txt"

    def read() -> Used:
        user, system, wall, peak = map(float, told.read_text().split()[-4:])
        return Used(user + system, wall, peak / 1024, summed=False)

    return Meter([program, "-f", "%U %S %e %M", "-o", str(told)], read)


def runexec(folder: Path) -> Meter:
    """BenchExec, from the path or from CAGEMATCH_TEST_RUNEXEC."""
    program = os.environ.get("CAGEMATCH_TEST_RUNEXEC") or shutil.which("runexec")
    if program is None:
        pytest.skip("runexec is not installed (pip install benchexec; CAGEMATCH_TEST_RUNEXEC may name it)")
    told = folder / "runexec.txt"
    options = [program, "--no-container", "--output", os.devnull]
    tried = subprocess.run([*options, "--", "true"], capture_output=True, text=True, check=False)
    if "cputime=" not in tried.stdout or "memory=" not in tried.stdout:
        pytest.skip(f"runexec cannot measure here: {(tried.stderr or tried.stdout).strip()[-300:]}")

    def read() -> Used:
        rows = dict(re.findall(r"^(\w+)=([\d.]+)", told.read_text(), re.MULTILINE))
        return Used(float(rows["cputime"]), float(rows["walltime"]), float(rows["memory"]) / 2**20)

    return Meter(["sh", "-c", f'exec "$@" >{told} 2>&1', "sh", *options, "--"], read)


@pytest.fixture(params=[gnu_time, runexec])
def meter(request: pytest.FixtureRequest, tmp_path: Path) -> Meter:
    return request.param(tmp_path)


@pytest.fixture
def measured(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Callable[[list[str]], Used]:
    """Measure a program by a run in a separate keeper."""

    def measure(command: list[str]) -> Used:
        monkeypatch.setenv("HOSTILE_COMMAND", json.dumps(command))
        with keeper_client(tmp_path) as keeper:
            return in_a_run(keeper)

    return measure


def in_a_run(keeper: KeeperClient) -> Used:
    keeper.lease(1)
    (answer,) = run(keeper, "hostile:do=command", limits=LIMITS)
    assert answer.stop == "finished", answer
    return Used(answer.cpu_s, answer.wall_s, answer.peak_mib)


@pytest.mark.parametrize("name", WORKLOADS)
def test_a_run_has_used_what_others_say(meter: Meter, measured: Callable[[list[str]], Used], name: str) -> None:
    workload = WORKLOADS[name]
    idle = min((measured([*meter.command, "true"]) - meter.read() for _ in range(3)), key=attrgetter("wall_s"))

    ours = measured([*meter.command, *workload.command]) - idle
    theirs = meter.read()

    for word in ("cpu_s", "wall_s", "peak_mib"):
        mine, other = getattr(ours, word), getattr(theirs, word)
        print(f"{name}: {word} {mine:.3f} / {other:.3f} = {mine / other:.3f}")
    assert ours.cpu_s == pytest.approx(theirs.cpu_s, rel=CLOSE)
    assert ours.wall_s == pytest.approx(theirs.wall_s, rel=CLOSE)
    if not workload.shared if theirs.summed else workload.processes == 1:
        assert ours.peak_mib == pytest.approx(theirs.peak_mib, rel=CLOSE_MEMORY)
