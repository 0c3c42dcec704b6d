"""The memory cgroup, where this machine lets us make one."""

from __future__ import annotations

import signal
import subprocess
import sys
from collections.abc import Callable, Iterator
from pathlib import Path

import pytest

from workers.memorygroup import MemoryGroup

Caught = Callable[[str], tuple[subprocess.Popen[bytes], MemoryGroup]]


@pytest.fixture
def caught() -> Iterator[Caught]:
    """Starts a Python in a group of its own; its code runs once it gets a line."""
    made = []

    def start(code: str) -> tuple[subprocess.Popen[bytes], MemoryGroup]:
        waiting = "import sys; sys.stdin.readline(); " + code
        process = subprocess.Popen([sys.executable, "-c", waiting], stdin=subprocess.PIPE, stderr=subprocess.DEVNULL)
        group = MemoryGroup.create(process.pid)
        if group is None:
            process.kill()
            process.wait()
            pytest.skip("no memory cgroup may be made here")
        made.append(group)
        return process, group

    yield start
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
