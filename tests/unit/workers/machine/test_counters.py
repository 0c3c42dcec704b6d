"""The kernel's counters of contention, on this machine and on simulated ones."""

from __future__ import annotations

import os
import subprocess
from pathlib import Path

import pytest
from hostile.keepers import files, until

from cagematch.workers.machine.counters import KernelCounters

STAT = """cpu  {user} 0 0 100 0 0 0 {steal} 0 0
cpu0 {user} 0 0 0 0 0 0 {steal} 0 0
cpu1 0 0 0 100 0 0 0 0 0 0
intr 12 3 4
procs_running {running}
"""
HOST, GROUP = "proc/pressure/cpu", "sys/fs/cgroup/worker.slice/cpu.pressure"
PRESSURE = "some avg10=0.00 avg60=0.00 avg300=0.00 total={total}\nfull avg10=0.00 avg60=0.00 avg300=0.00 total=7\n"


def machine(
    root: Path, *, user: int, steal: int, running: int, total: int, pressure: str = "proc/pressure/cpu"
) -> Path:
    return files(
        root,
        {
            "proc/stat": STAT.format(user=user, steal=steal, running=running),
            "proc/loadavg": "1.50 1.00 0.50 2/100 4242\n",
            "proc/self/cgroup": "4:memory:/\n0::/worker.slice\n",
            pressure: PRESSURE.format(total=total),
        },
    )


def test_steal_is_a_share_of_the_given_cores(tmp_path: Path) -> None:
    before, after = tmp_path / "before", tmp_path / "after"
    machine(before, user=0, steal=0, running=1, total=0)
    machine(after, user=300, steal=100, running=1, total=0)

    for cores, expected in (([], 0.25), ([0], 0.25), ([1], None)):
        contention = KernelCounters.read(cores, after).since(KernelCounters.read(cores, before))
        assert contention.steal == expected


@pytest.mark.parametrize("pressure", [HOST, GROUP])
def test_pressure_is_a_share_of_the_span(tmp_path: Path, pressure: str) -> None:
    before, after = tmp_path / "before", tmp_path / "after"
    machine(before, user=0, steal=0, running=1, total=1_000, pressure=pressure)
    machine(after, user=0, steal=0, running=1, total=1_000 + 10**12, pressure=pressure)
    earlier = KernelCounters.read(root=before)

    assert KernelCounters.read(root=before).since(earlier).pressure == 0.0
    assert KernelCounters.read(root=after).since(earlier).pressure == 1.0


def test_more_ready_threads_than_hardware_threads_are_oversubscription(tmp_path: Path) -> None:
    quiet, busy = tmp_path / "quiet", tmp_path / "busy"
    machine(quiet, user=0, steal=0, running=3, total=0)  # One of them is the reader.
    machine(busy, user=0, steal=0, running=4, total=0)

    for first, last, runnable in ((quiet, quiet, 2), (quiet, busy, 3), (busy, quiet, 3)):
        contention = KernelCounters.read(root=last).since(KernelCounters.read(root=first))
        assert (contention.runnable, contention.oversubscribed, contention.load) == (runnable, runnable > 2, 1.5)


def test_missing_counters_are_none(tmp_path: Path) -> None:
    contention = KernelCounters.read(root=tmp_path).since(KernelCounters.read(root=tmp_path))

    for value in (contention.steal, contention.pressure, contention.load, contention.runnable):
        assert value is None
    assert contention.oversubscribed is None


def test_too_many_spinning_processes_are_detected() -> None:
    spinners = [subprocess.Popen(["sh", "-c", "while :; do :; done"]) for _ in range(2 * (os.cpu_count() or 1))]
    try:
        before = KernelCounters.read()
        until(lambda: KernelCounters.read().since(before).oversubscribed)
        if before.waiting_us is not None:
            until(lambda: (KernelCounters.read().since(before).pressure or 0) > 0.1)
        assert 0 <= (KernelCounters.read().since(before).steal or 0) <= 1
    finally:
        for spinner in spinners:
            spinner.kill()
            spinner.wait()
