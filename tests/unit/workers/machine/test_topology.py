"""The cores for solves, on this machine and on simulated ones."""

from __future__ import annotations

import os
import subprocess
import sys
from pathlib import Path

import pytest
from hostile.keepers import files, topology

from cagematch.problems.errors import InputError
from cagematch.workers.machine.topology import (
    CORES,
    check_cores,
    format_cores,
    one_thread_per_core,
    siblings,
    usable_cores,
)

PAIRS = {thread: f"{thread % 4},{thread % 4 + 4}" for thread in range(8)}  # As most servers number them.
NEIGHBOURS = {thread: f"{thread & ~1}-{thread | 1}" for thread in range(8)}  # As most laptops number them.
MOVED = """
import os, sys
from pathlib import Path
from cagematch.workers.machine.topology import move_off_leased_cores, usable_cores
move_off_leased_cores()
move_off_leased_cores()
print(usable_cores(), sorted(os.sched_getaffinity(0)))
"""


@pytest.mark.parametrize(
    ("threads", "usable", "expected"),
    [
        (PAIRS, range(8), [0, 1, 2, 3]),
        (NEIGHBOURS, range(8), [0, 2, 4, 6]),
        (NEIGHBOURS, [1, 2, 3, 7], [1, 2, 7]),
        (dict.fromkeys(range(4), "0-3"), [0, 1, 2, 3], [0]),
        ({}, [0, 3, 5], [0, 3, 5]),
        ({0: "rubbish", 1: ""}, [0, 1], [0, 1]),
    ],
)
def test_siblings_are_one_core(tmp_path: Path, threads: dict[int, str], usable: list[int], expected: list[int]) -> None:
    topology(tmp_path, threads)

    assert one_thread_per_core(usable, tmp_path) == expected


def test_siblings_agree_with_lscpu() -> None:
    for core in os.sched_getaffinity(0):
        shown = subprocess.run(["lscpu", "-p=CPU,CORE,SOCKET"], capture_output=True, text=True, check=True).stdout
        rows = [tuple(map(int, line.split(","))) for line in shown.splitlines() if not line.startswith("#")]
        place = next(row[1:] for row in rows if row[0] == core)
        assert siblings(core) == {row[0] for row in rows if row[1:] == place}


def test_one_core_in_eight_is_reserved(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    for count, expected in ((1, 0), (7, 0), (8, 1), (15, 1), (64, 8)):
        monkeypatch.setattr("os.sched_getaffinity", lambda _, count=count: set(range(count)))
        assert usable_cores(tmp_path) == list(range(expected, count))


def test_no_listed_core_is_reserved(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    topology(tmp_path, NEIGHBOURS)
    for listed, expected in (("0-7", [0, 2, 4, 6]), ("3", [3]), ("7,2-5", [2, 4, 7])):
        monkeypatch.setenv(CORES, listed)
        assert usable_cores(tmp_path) == expected


@pytest.mark.parametrize("text", ["", "a", "0-", "-1", "1,,2", "0 1", "0x1", "0;1", "3-1", "0-99999999999"])
def test_a_malformed_list_is_an_error(text: str) -> None:
    with pytest.raises(InputError, match="list of cores"):
        check_cores(text)


def test_an_unavailable_core_is_an_error() -> None:
    mine = os.sched_getaffinity(0)

    check_cores(format_cores(mine))
    with pytest.raises(InputError, match=f"no core 4000 for this process; usable here: {format_cores(mine)}"):
        check_cores(f"{min(mine)},4000")


def test_cores_are_formatted_as_by_the_kernel() -> None:
    assert format_cores({8, 0, 1, 2, 3, 11, 10}) == "0-3,8,10-11"


def test_a_worker_moves_off_the_leased_cores() -> None:
    mine = sorted(os.sched_getaffinity(0))
    if len(mine) < 2:
        pytest.skip("this process may use one core only")

    for listed, own in ((format_cores(mine[1:]), mine[:1]), (format_cores(mine), mine)):
        environment = os.environ | {CORES: listed}
        command = [sys.executable, "-c", MOVED]
        shown = subprocess.run(command, env=environment, capture_output=True, text=True, check=True)
        leased = one_thread_per_core(mine[1:] if own == mine[:1] else mine)
        assert shown.stdout == f"{leased} {own}\n"


V1, V2 = "4:cpu,cpuacct:/docker/1\n1:memory:/\n", "0::/user.slice/one.service\n"
QUOTAS = [
    (V2, {"user.slice/one.service/cpu.max": "max 100000"}, None),
    (V2, {"user.slice/one.service/cpu.max": "150000 100000"}, 1),
    (V2, {"user.slice/one.service/cpu.max": "max 100000", "user.slice/cpu.max": "20000 100000"}, 1),
    (V2, {"cpu.max": "200000 100000", "user.slice/one.service/cpu.max": "900000 100000"}, 2),
    (V1, {"cpu,cpuacct/docker/1/cpu.cfs_quota_us": "-1", "cpu,cpuacct/docker/1/cpu.cfs_period_us": "100000"}, None),
    (V1, {"cpu,cpuacct/cpu.cfs_quota_us": "100000", "cpu,cpuacct/cpu.cfs_period_us": "100000"}, 1),
    ("", {}, None),
    (V2, {"user.slice/one.service/cpu.max": "rubbish"}, None),
]


@pytest.mark.parametrize(("groups", "limits", "expected"), QUOTAS)
def test_the_quota_of_the_cgroup_limits_the_cores(
    tmp_path: Path, groups: str, limits: dict[str, str], expected: int | None
) -> None:
    files(tmp_path, {"proc/self/cgroup": groups, **{f"sys/fs/cgroup/{name}": text for name, text in limits.items()}})
    mine = usable_cores(tmp_path / "nothing")

    assert usable_cores(tmp_path) == mine[: expected or len(mine)]
