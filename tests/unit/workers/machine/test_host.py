"""The facts of a host, and its survey."""

from __future__ import annotations

import os
import subprocess
import sys
from pathlib import Path

import pytest
from hostile.keepers import files, topology, until

from cagematch.workers.machine.cores import Leases
from cagematch.workers.machine.host import digest, host_facts, survey
from cagematch.workers.machine.topology import CORES, usable_cores

CPU = "sys/devices/system/cpu"
LAPTOP = {
    "proc/cpuinfo": "processor\t: 0\nmodel name\t: Abacus 9\nflags\t: fpu vme\n\nprocessor\t: 1\nmodel name\t: B\n",
    "proc/stat": "cpu  1 2\ncpu0 1 2\ncpu1 1 2\ncpu2 1 2\ncpu3 1 2\nintr 5\n",
    "proc/loadavg": "0.25 0.10 0.05 1/100 4242\n",
    f"{CPU}/cpu0/cpufreq/scaling_governor": "powersave\n",
    f"{CPU}/intel_pstate/no_turbo": "1\n",
    **{
        f"{CPU}/cpu0/cache/index{number}/{name}": value + "\n"
        for number, cache in enumerate([("1", "Data", "48K"), ("1", "Instruction", "32K"), ("2", "Unified", "2048K")])
        for name, value in zip(("level", "type", "size"), cache, strict=True)
    },
}


def test_facts_come_from_the_kernel(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv(CORES, "1-2")
    files(tmp_path, LAPTOP)
    topology(tmp_path, dict.fromkeys((0, 1), "0-1") | dict.fromkeys((2, 3), "2-3"))

    facts = host_facts(tmp_path)

    assert (
        facts.items()
        >= {
            "processor": "Abacus 9",
            "cores": 2,
            "core_list": "1-2",
            "host_cores": 2,
            "host_threads": 4,
            "caches": {"L1d": "48K", "L1i": "32K", "L2": "2048K"},
            "governor": "powersave",
            "turbo": "off",
            "hypervisor": False,
            "load": 0.25,
        }.items()
    )


def test_unreadable_facts_are_missing(tmp_path: Path) -> None:
    assert host_facts(tmp_path).keys() == {"processor", "cores", "core_list", "memory_mib", "kernel"}
    assert all(host_facts(tmp_path).values())


def test_turbo_is_found_in_either_file(tmp_path: Path) -> None:
    assert host_facts(files(tmp_path, {f"{CPU}/cpufreq/boost": "1\n"}))["turbo"] == "on"


def test_facts_agree_with_lscpu() -> None:
    shown = subprocess.run(["lscpu"], capture_output=True, text=True, check=True, env={"LC_ALL": "C"}).stdout
    rows = {key.strip(): value.strip() for key, _, value in (line.partition(":") for line in shown.splitlines())}
    facts = host_facts()

    assert facts["processor"] == rows["Model name"]
    assert facts["host_threads"] == int(rows["CPU(s)"])
    assert facts["host_cores"] == int(rows["Core(s) per socket"]) * int(rows["Socket(s)"])
    assert facts["hypervisor"] == ("Hypervisor vendor" in rows)


def test_the_digest_ignores_the_load() -> None:
    facts = {"cores": 2, "load": 0.5}

    assert digest("here", facts) == digest("here", facts | {"load": 3.0})
    assert len({digest("here", facts), digest("there", facts), digest("here", facts | {"cores": 4})}) == 3


@pytest.fixture
def locks(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    monkeypatch.setenv("CAGEMATCH_LOCKS", str(tmp_path / "locks"))
    return tmp_path / "locks"


def test_a_survey_leases_a_core_and_releases_it(locks: Path) -> None:
    found = survey()

    assert found.reference_s
    assert found.core in usable_cores()
    assert all(Leases(locks, [core]).take_one(0.0) == core for core in usable_cores())


def test_surveys_have_no_lease_without_free_cores(locks: Path) -> None:
    held = [Leases(locks, [core]) for core in usable_cores()]
    assert [lease.take_one(0.0) for lease in held] == usable_cores()

    unleased = survey(0.05)
    assert unleased.reference_s
    assert unleased.core is None

    held[-1].release()
    assert survey().core == usable_cores()[-1]


def test_a_survey_gives_way_to_waiting_claimants(locks: Path) -> None:
    waiting = "import fcntl, sys; f = open(sys.argv[1], 'w'); fcntl.flock(f, fcntl.LOCK_EX); print(flush=True); input()"
    assert Leases(locks, usable_cores()).take_one(0.0) is not None
    command = [sys.executable, "-c", waiting, str(locks / "turnstile")]
    with subprocess.Popen(command, stdin=subprocess.PIPE, stdout=subprocess.PIPE) as claimant:
        assert claimant.stdout
        claimant.stdout.readline()

        assert survey().core is None

        claimant.communicate()
    assert survey().core is not None


def test_a_survey_detects_the_memory_limit(locks: Path) -> None:
    """The survey removes its cgroup."""
    found = survey()

    assert found.memory_limit in {"cgroup v1", "cgroup v2", "watch"}
    mark = f".{os.getpid()}."
    groups = Path("/sys/fs/cgroup")
    until(lambda: not [path for path in groups.glob("**/cagematch-*") if mark in path.name])
