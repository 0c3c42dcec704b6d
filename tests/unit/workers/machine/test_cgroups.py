"""The memory cgroup, where this machine lets us make one."""

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

Caught = Callable[[str], tuple[subprocess.Popen[bytes], MemoryGroup]]


@pytest.fixture
def caught() -> Iterator[Caught]:
    """Starts a Python in a group of its own; its code runs once it gets a line."""
    made = []
    started = []

    def start(code: str) -> tuple[subprocess.Popen[bytes], MemoryGroup]:
        waiting = "import sys; sys.stdin.readline(); " + code
        process = subprocess.Popen([sys.executable, "-c", waiting], stdin=subprocess.PIPE, stderr=subprocess.DEVNULL)
        started.append(process)
        group = MemoryGroup.create(process.pid)
        if group is None:
            pytest.skip("no memory cgroup may be made here")
        made.append(group)
        return process, group

    yield start
    for process in started:
        process.kill()
        process.communicate()
    for group in made:
        group.remove()


def test_a_process_over_the_limit_is_killed_and_counted(caught: Caught) -> None:
    process, group = caught("hog = bytearray(300 << 20)")
    group.limit(64)

    process.communicate(b"go\n", timeout=60)

    assert process.returncode == -signal.SIGKILL
    assert group.kills() == 1


def test_a_child_is_in_the_group_of_its_parent(caught: Caught) -> None:
    process, group = caught("import subprocess; subprocess.run([sys.executable, '-c', 'hog = bytearray(400 << 20)'])")
    group.limit(256)

    process.communicate(b"go\n", timeout=60)

    assert process.returncode == 0
    assert group.kills() == 1


def test_a_limit_can_be_raised_and_lowered(caught: Caught) -> None:
    process, group = caught("hog = bytearray(64 << 20)")
    for mib in (32, 512, 128):
        group.limit(mib)

    process.communicate(b"go\n", timeout=60)

    assert process.returncode == 0
    assert group.kills() == 0


def test_no_group_is_made_where_there_is_no_controller(tmp_path: Path) -> None:
    own = tmp_path / "cgroup"
    own.write_text("0::/\n", encoding="ascii")
    (tmp_path / "root").mkdir()

    made = MemoryGroup.create(1, root=tmp_path / "root", own=own)

    assert made is None
    assert list((tmp_path / "root").iterdir()) == []


def test_no_group_is_made_where_the_kernel_tells_nothing(tmp_path: Path) -> None:
    assert MemoryGroup.create(1, root=tmp_path, own=tmp_path / "missing") is None


def test_version_1_limits_memory_and_swap_together(tmp_path: Path) -> None:
    group = MemoryGroup(tmp_path, _V1)

    group.limit(64)

    assert group.version == "cgroup v1"
    assert (tmp_path / "memory.limit_in_bytes").read_text() == str(64 * BYTES_PER_MIB)
    assert (tmp_path / "memory.memsw.limit_in_bytes").read_text() == str(64 * BYTES_PER_MIB)
    (tmp_path / "memory.oom_control").write_text("oom_kill_disable 0\nunder_oom 0\noom_kill 3\n")
    assert group.kills() == 3


def test_version_2_limits_memory_and_allows_no_swap(tmp_path: Path) -> None:
    group = MemoryGroup(tmp_path, _V2)

    group.limit(64)

    assert group.version == "cgroup v2"
    assert (tmp_path / "memory.max").read_text() == str(64 * BYTES_PER_MIB)
    assert (tmp_path / "memory.swap.max").read_text() == "0"
    (tmp_path / "memory.events").write_text("low 0\nhigh 0\nmax 9\noom 2\noom_kill 2\noom_group_kill 0\n")
    assert group.kills() == 2


def test_a_worker_makes_room_in_a_group_of_version_2_that_it_has_for_itself(tmp_path: Path) -> None:
    own = tmp_path / "own"
    own.write_text("0::/a.scope\n")
    root = files(
        tmp_path / "root", {"a.scope/cgroup.procs": f"{os.getpid()}\n", "a.scope/cgroup.controllers": "memory"}
    )

    move_to_own_group(root, own)

    (made,) = root.glob("a.scope/cagematch-*")
    assert (made / "cgroup.procs").read_text() == str(os.getpid())


@pytest.mark.parametrize(("others", "controllers"), [("1\n", "cpu memory"), ("", "cpu"), ("", "")])
def test_a_group_with_others_in_it_or_without_the_controller_stays_as_it_is(
    tmp_path: Path, others: str, controllers: str
) -> None:
    own = tmp_path / "own"
    own.write_text("0::/\n")
    root = files(tmp_path / "root", {"cgroup.procs": f"{others}{os.getpid()}\n", "cgroup.controllers": controllers})

    move_to_own_group(root, own)

    assert list(root.glob("cagematch-*")) == []


def test_what_a_dead_keeper_left_in_its_group_is_ended(caught: Caught) -> None:
    process, group = caught("import time; time.sleep(60)")
    namespace, pid, start = identity(os.getpid()).split(".")
    earlier = f"{namespace}.{pid}.{int(start) - TICKS}"
    dead = group._folder.with_name(f"cagematch-{earlier}-{process.pid}")
    dead.mkdir()
    (dead / "cgroup.procs").write_text(str(process.pid))

    caught("")[0].communicate(b"go\n")

    assert process.wait(timeout=10) == -signal.SIGKILL
    until(lambda: not dead.exists() or caught("")[0].communicate(b"go\n"))


ROOM = """
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


def test_a_worker_with_a_group_of_version_2_of_its_own_has_its_limits_held_by_the_kernel(
    version_2: Path,
) -> None:
    """As ``systemd-run --scope -p Delegate=yes`` gives one."""
    told = subprocess.run([sys.executable, "-c", ROOM, str(version_2)], capture_output=True, text=True, check=True)

    assert told.stdout.split() == ["cgroup", "v2", "-9", "1", str(version_2)]


@pytest.fixture
def version_2() -> Iterator[Path]:
    """A new group of version 2 whose parent hands it the controller."""
    mounted = (line.split() for line in Path("/proc/mounts").read_text().splitlines())
    for top in (Path(words[1]) for words in mounted if words[2] == "cgroup2"):
        folder = top / f"room-{os.getpid()}"
        try:
            if "memory" not in (top / "cgroup.controllers").read_text().split():
                continue
            (top / "cgroup.subtree_control").write_text("+memory")
            folder.mkdir()
        except OSError as error:
            pytest.skip(f"no memory cgroup of version 2 may be made here: {error}")
        yield folder
        for each in (*folder.iterdir(), folder):
            if each.is_dir():
                each.rmdir()
        return
    pytest.skip("this kernel has the memory controller in no hierarchy of version 2")
