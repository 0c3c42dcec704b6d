"""Core leases: no claimant starves, no core is leased twice, and a lease ends with its holder."""

from __future__ import annotations

import socket
import subprocess
import sys
import time
from pathlib import Path

import pytest
from hostile.keepers import topology

from cagematch.problems.errors import SandboxError
from cagematch.workers.machine.cores import Leases

CLAIMANT = """
import socket, sys, time
from pathlib import Path
from cagematch.workers.machine.cores import Leases
folder, count, hold_s, start, over = sys.argv[1], *map(float, sys.argv[2:])
ours, theirs = socket.socketpair()
leases, turns = Leases(Path(folder), [0, 1]), 0
time.sleep(max(0.0, start - time.time()))
while time.time() < over:
    assert len(leases.take(int(count), ours)) == count
    turns += 1
    time.sleep(hold_s)
    leases.release()
print(turns)
"""


def turns(folder: Path, counts: list[int], hold_s: float, seconds: float) -> list[int]:
    """Return how often each claimant leased its cores; there are two cores."""
    start = time.time() + 1.0
    started = [
        subprocess.Popen(
            [sys.executable, "-c", CLAIMANT, str(folder), *map(str, (count, hold_s, start, start + seconds))],
            stdout=subprocess.PIPE,
            text=True,
        )
        for count in counts
    ]
    return [int(process.communicate()[0]) for process in started]


def test_a_claimant_of_two_cores_does_not_starve(tmp_path: Path) -> None:
    two, *ones = turns(tmp_path, [2, 1, 1, 1, 1], hold_s=0.02, seconds=4.0)

    print(f"two cores: {two} turns, one core: {ones}")
    assert min(two, *ones) > 0.6 * max(two, *ones)


def test_no_core_is_leased_twice(tmp_path: Path) -> None:
    ours, _theirs = socket.socketpair()
    first, second, third = (Leases(tmp_path, [3, 5, 8]) for _ in range(3))

    assert (_take(first, 1, ours), _take(second, 2, ours)) == ([3], [5, 8])
    assert not third._lock_free(1)
    third.release()
    first.release()
    second.release()
    assert _take(third, 99, ours) == [3, 5, 8]


def _take(leases: Leases, count: int, peer: socket.socket) -> list[int]:
    """Take free cores as `take` does, which would wait with signals that the test runner uses."""
    assert leases._lock_free(min(count, 3))
    return sorted(leases._held)


def test_a_lease_ends_with_its_holder(tmp_path: Path) -> None:
    code = CLAIMANT.replace("    time.sleep(hold_s)", "    print('held', flush=True); time.sleep(hold_s)")
    command = [sys.executable, "-c", code, str(tmp_path), "2", "60", "0", str(time.time() + 60)]
    with subprocess.Popen(command, stdout=subprocess.PIPE, text=True) as holder:
        assert holder.stdout
        assert holder.stdout.readline() == "held\n"
        leases = Leases(tmp_path, [0, 1])
        assert not leases._lock_free(1)

        holder.kill()
        holder.wait()

        assert leases._lock_free(2)


def test_every_user_can_write_to_a_new_folder(tmp_path: Path) -> None:
    """An existing folder keeps its mode."""
    assert Leases(tmp_path / "a" / "locks", [0])._lock_free(1)
    assert (tmp_path / "a" / "locks").stat().st_mode & 0o7777 == 0o1777
    assert (tmp_path / "a" / "locks" / "core-0").stat().st_mode & 0o777 == 0o666

    private = tmp_path / "private"
    private.mkdir(mode=0o700)
    (tmp_path / "link").symlink_to(private)
    assert Leases(tmp_path / "link", [0])._lock_free(1)
    assert private.stat().st_mode & 0o7777 == 0o700


def test_an_unusable_folder_is_reported_with_a_remedy(tmp_path: Path) -> None:
    (tmp_path / "file").touch()

    with pytest.raises(SandboxError, match="set CAGEMATCH_LOCKS"):
        Leases(tmp_path / "file", [0])._lock_free(1)


def test_a_lease_covers_all_threads_of_a_core(tmp_path: Path) -> None:
    """Two workers whose affinities contain different threads of the same cores exclude each other."""
    machine = tmp_path / "machine"
    topology(machine, {0: "0,2", 1: "1,3", 2: "0,2", 3: "1,3"})
    lower, upper = (Leases(tmp_path / "locks", cores, machine) for cores in ([0, 1], [2, 3]))

    assert lower._lock_free(1)
    assert not upper._lock_free(2)

    assert upper._held.keys() == {3}
    lower.release()
    assert upper._lock_free(2)
