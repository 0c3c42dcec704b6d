"""Host-wide leases of CPU cores: one lock file a core, and a turnstile.

A lease is a ``flock``: the kernel frees it when its holder dies, and containers share it through a volume.
As ``flock`` has no queue, whoever wants two cores would starve beside those who want one; so a
claimant first takes the turnstile, and waits inside it, alone, until all its cores are free.
"""

from __future__ import annotations

import fcntl
import os
import signal
import socket
import tempfile
import time
from contextlib import suppress
from pathlib import Path

LOOK_S = 0.002  # how often the one claimant inside the turnstile looks for free cores
REMIND_S = 5.0


def locks_folder() -> Path:
    """Where the lock files are: CAGEMATCH_LOCKS, or a folder that every user of the host shares."""
    return Path(os.environ.get("CAGEMATCH_LOCKS") or Path(tempfile.gettempdir()) / "cagematch-cores")


def usable_cores() -> list[int]:
    """The cores that this process may use: its affinity, cut down to its cgroup's CPU quota."""
    cores = sorted(os.sched_getaffinity(0))
    quota = _quota()
    return cores if quota is None else cores[: max(1, int(quota))]


def _quota() -> float | None:
    """CPUs that the cgroup allows, None when it sets no limit (or cannot be read)."""
    for line in _read("/proc/self/cgroup").splitlines():
        _, controllers, path = line.split(":", 2)
        for base in (path, "/"):
            if not controllers:
                words = _read(f"/sys/fs/cgroup{base}/cpu.max").split()
            elif "cpu" in controllers.split(","):
                folder = f"/sys/fs/cgroup/{controllers}{base}"
                words = (_read(f"{folder}/cpu.cfs_quota_us") + " " + _read(f"{folder}/cpu.cfs_period_us")).split()
            else:
                continue
            if len(words) == 2 and words[0].isdigit() and int(words[1]):
                return int(words[0]) / int(words[1])
    return None


def _read(path: str) -> str:
    try:
        return Path(path).read_text(encoding="ascii")
    except OSError:
        return ""


class PeerGone(Exception):
    """The process that the lease is for has gone away."""


def check(peer: socket.socket) -> None:
    """Raise PeerGone when the other end of a non-blocking socket is closed."""
    with suppress(BlockingIOError):
        if not peer.recv(1, socket.MSG_PEEK):
            raise PeerGone


def _lock(fd: int, peer: socket.socket) -> None:
    """Lock a descriptor exclusively, however long it takes, unless the peer goes away meanwhile.

    The wait is the kernel's, which costs nothing and keeps its order. The peer's going raises SIGIO, whose
    handler breaks the wait; SIGALRM is for a SIGIO that came in the instant before the wait.
    """
    flags = fcntl.fcntl(peer, fcntl.F_GETFL)
    for number in (signal.SIGIO, signal.SIGALRM):
        signal.signal(number, lambda *_: check(peer))
    fcntl.fcntl(peer, fcntl.F_SETOWN, os.getpid())
    fcntl.fcntl(peer, fcntl.F_SETFL, flags | os.O_ASYNC)
    signal.setitimer(signal.ITIMER_REAL, REMIND_S, REMIND_S)
    try:
        check(peer)
        fcntl.flock(fd, fcntl.LOCK_EX)
    finally:
        signal.setitimer(signal.ITIMER_REAL, 0)
        fcntl.fcntl(peer, fcntl.F_SETFL, flags)
        signal.signal(signal.SIGIO, signal.SIG_IGN)


class Leases:
    """The cores that one keeper holds."""

    def __init__(self, folder: Path, cores: list[int]) -> None:
        folder.mkdir(mode=0o1777, parents=True, exist_ok=True)
        with suppress(PermissionError):  # somebody else made it
            folder.chmod(0o1777)
        self._folder = folder
        self._cores = cores
        self._held: dict[int, int] = {}

    def take(self, count: int, peer: socket.socket) -> list[int]:
        """Wait for ``count`` cores, or for all where there are fewer, and return their numbers.

        Raises PeerGone when the other end of ``peer`` closes meanwhile; nothing stays locked then.
        """
        wanted = min(count, len(self._cores))
        turnstile = self._open("turnstile")
        try:
            _lock(turnstile, peer)
            while not self._grab(wanted):
                check(peer)
                time.sleep(LOOK_S)
        except BaseException:
            self.release()
            raise
        finally:
            os.close(turnstile)
        return sorted(self._held)

    def release(self) -> None:
        """Give every core back."""
        for fd in self._held.values():
            os.close(fd)
        self._held.clear()

    def _grab(self, wanted: int) -> bool:
        for core in self._cores:
            if len(self._held) == wanted:
                break
            if core in self._held:
                continue
            fd = self._open(f"core-{core}")
            try:
                fcntl.flock(fd, fcntl.LOCK_EX | fcntl.LOCK_NB)
            except BlockingIOError:
                os.close(fd)
            else:
                self._held[core] = fd
        return len(self._held) == wanted

    def _open(self, name: str) -> int:
        path = self._folder / name
        flags = os.O_RDWR | os.O_NOFOLLOW | os.O_CLOEXEC
        with suppress(FileNotFoundError):
            return os.open(path, flags)
        fd = os.open(path, flags | os.O_CREAT, 0o666)
        with suppress(PermissionError):
            os.fchmod(fd, 0o666)
        return fd
