"""The memory cgroup, where the host allows one."""

from __future__ import annotations

import os
import signal
import subprocess
import sys
from collections.abc import Callable, Iterator
from pathlib import Path

import pytest
from hostile.keepers import files, until

from cagematch.workers.machine.cgroups import _V1, _V2, MemoryGroup, move_to_own_group
from cagematch.workers.machine.orphans import identity
from cagematch.workers.machine.processes import TICKS
from cagematch.workers.machine.units import BYTES_PER_MIB

InGroup = Callable[[str], tuple[subprocess.Popen[bytes], MemoryGroup]]


@pytest.fixture
def in_group() -> Iterator[InGroup]:
    """Start Python in a new group; its code runs when it reads a line."""
    groups: list[MemoryGroup] = []
    started = []

    def start(code: str) -> tuple[subprocess.Popen[bytes], MemoryGroup]:
        waiting = "import sys; sys.stdin.readline(); " + code
        process = subprocess.Popen([sys.executable, "-c", waiting], stdin=subprocess.PIPE, stderr=subprocess.DEVNULL)
        started.append(process)
        group = MemoryGroup.create(process.pid)
        if group is None:
            pytest.skip("this host allows no memory cgroup")
        groups.append(group)
        return process, group

    yield start
    for process in started:
        process.kill()
        process.communicate()
    for group in groups:
        group.remove()


def test_a_process_over_the_limit_is_killed(in_group: InGroup) -> None:
    process, group = in_group("hog = bytearray(300 << 20)")
    group.limit(64)

    process.communicate(b"go\n", timeout=60)

    assert process.returncode == -signal.SIGKILL
    assert group.kills() == 1


def test_a_child_belongs_to_the_group(in_group: InGroup) -> None:
    process, group = in_group("import subprocess; subprocess.run([sys.executable, '-c', 'hog = bytearray(400 << 20)'])")
    group.limit(256)

    process.communicate(b"go\n", timeout=60)

    assert process.returncode == 0
    assert group.kills() == 1


def test_a_limit_can_be_raised_and_lowered(in_group: InGroup) -> None:
    process, group = in_group("hog = bytearray(64 << 20)")
    for mib in (32, 512, 128):
        group.limit(mib)

    process.communicate(b"go\n", timeout=60)

    assert process.returncode == 0
    assert group.kills() == 0


def test_without_the_controller_there_is_no_group(tmp_path: Path) -> None:
    own = tmp_path / "cgroup"
    own.write_text("0::/\n", encoding="ascii")
    (tmp_path / "root").mkdir()

    group = MemoryGroup.create(1, root=tmp_path / "root", own=own)

    assert group is None
    assert list((tmp_path / "root").iterdir()) == []


def test_without_cgroups_there_is_no_group(tmp_path: Path) -> None:
    assert MemoryGroup.create(1, root=tmp_path, own=tmp_path / "missing") is None


def test_version_1_limits_memory_with_swap(tmp_path: Path) -> None:
    group = MemoryGroup(tmp_path, _V1)

    group.limit(64)

    assert group.version == "cgroup v1"
    assert (tmp_path / "memory.limit_in_bytes").read_text() == str(64 * BYTES_PER_MIB)
    assert (tmp_path / "memory.memsw.limit_in_bytes").read_text() == str(64 * BYTES_PER_MIB)
    (tmp_path / "memory.oom_control").write_text("oom_kill_disable 0\nunder_oom 0\noom_kill 3\n")
    assert group.kills() == 3


def test_version_2_disables_swap(tmp_path: Path) -> None:
    group = MemoryGroup(tmp_path, _V2)

    group.limit(64)

    assert group.version == "cgroup v2"
    assert (tmp_path / "memory.max").read_text() == str(64 * BYTES_PER_MIB)
    assert (tmp_path / "memory.swap.max").read_text() == "0"
    (tmp_path / "memory.events").write_text("low 0\nhigh 0\nmax 9\noom 2\noom_kill 2\noom_group_kill 0\n")
    assert group.kills() == 2


def test_a_worker_leaves_a_group_without_others(tmp_path: Path) -> None:
    """Version 2 lets a group limit the groups below it only without processes of its own."""
    own = tmp_path / "own"
    own.write_text("0::/a.scope\n")
    root = files(
        tmp_path / "root", {"a.scope/cgroup.procs": f"{os.getpid()}\n", "a.scope/cgroup.controllers": "memory"}
    )

    move_to_own_group(root, own)

    (created,) = root.glob("a.scope/cagematch-*")
    assert (created / "cgroup.procs").read_text() == str(os.getpid())


@pytest.mark.parametrize(("others", "controllers"), [("1\n", "cpu memory"), ("", "cpu"), ("", "")])
def test_a_shared_group_is_left_alone(tmp_path: Path, others: str, controllers: str) -> None:
    """So is a group without the memory controller."""
    own = tmp_path / "own"
    own.write_text("0::/\n")
    root = files(tmp_path / "root", {"cgroup.procs": f"{others}{os.getpid()}\n", "cgroup.controllers": controllers})

    move_to_own_group(root, own)

    assert list(root.glob("cagematch-*")) == []


def test_the_group_of_a_dead_keeper_is_removed(in_group: InGroup) -> None:
    process, group = in_group("import time; time.sleep(60)")
    namespace, pid, start = identity(os.getpid()).split(".")
    earlier = f"{namespace}.{pid}.{int(start) - TICKS}"
    dead = group._folder.with_name(f"cagematch-{earlier}-{process.pid}")
    dead.mkdir()
    (dead / "cgroup.procs").write_text(str(process.pid))

    in_group("")[0].communicate(b"go\n")

    assert process.wait(timeout=10) == -signal.SIGKILL
    until(lambda: not dead.exists() or in_group("")[0].communicate(b"go\n"))


DELEGATED = """
import os, subprocess, sys
from pathlib import Path
Path(sys.argv[1], "cgroup.procs").write_text(str(os.getpid()))
from cagematch.workers.machine.cgroups import MemoryGroup, move_to_own_group
move_to_own_group()
hog = [sys.executable, "-c", "import sys; sys.stdin.readline(); hog = bytearray(300 << 20)"]
process = subprocess.Popen(hog, stdin=subprocess.PIPE)
group = MemoryGroup.create(process.pid)
group.limit(64)
process.communicate(b"go")
print(group.version, process.returncode, group.kills(), group._folder.parent)
group.remove()
"""


def test_the_kernel_enforces_limits_in_a_delegated_group(version_2: Path) -> None:
    """The group is like one of ``systemd-run --scope -p Delegate=yes``."""
    shown = subprocess.run(
        [sys.executable, "-c", DELEGATED, str(version_2)], capture_output=True, text=True, check=True
    )

    assert shown.stdout.split() == ["cgroup", "v2", "-9", "1", str(version_2)]


@pytest.fixture
def version_2() -> Iterator[Path]:
    """A new group of version 2 whose parent delegates the controller to it."""
    mounted = (line.split() for line in Path("/proc/mounts").read_text().splitlines())
    for top in (Path(words[1]) for words in mounted if words[2] == "cgroup2"):
        folder = top / f"cagematch-test-{os.getpid()}"
        try:
            if "memory" not in (top / "cgroup.controllers").read_text().split():
                continue
            (top / "cgroup.subtree_control").write_text("+memory")
            folder.mkdir()
        except OSError as error:
            pytest.skip(f"this host allows no memory cgroup of version 2: {error}")
        yield folder
        for each in (*folder.iterdir(), folder):
            if each.is_dir():
                each.rmdir()
        return
    pytest.skip("the memory controller of this kernel is not in version 2")
