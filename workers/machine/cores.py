"""Host-wide leases of CPU cores: one lock file a core, and a turnstile.

A lease is a ``flock``: the kernel frees it when its holder dies, and containers share it through a volume.
It is of a whole core: siblings have one file, named after the first of them.
As ``flock`` has no queue, whoever wants two cores would starve beside those who want one; so a
claimant first takes the turnstile, and waits inside it, alone, until all its cores are free.
"""

from __future__ import annotations

import fcntl
import os
import select
import signal
import socket
import time
from contextlib import suppress
from pathlib import Path

from cagematch.problems.errors import SandboxError
from cagematch.workers.machine.topology import ROOT, siblings, usable_cores

LOOK_S = 0.002  # how often the one claimant inside the turnstile looks for free cores
REMIND_S = 5.0


# Not the folder that TMPDIR names: users and jobs with folders of their own share the cores all the same.
SHARED = "/tmp/cagematch-cores"  # noqa: S108 - opened with care for what others may have put there


def locks_folder() -> Path:
    """Where the lock files are: CAGEMATCH_LOCKS, or a folder that every user of the host shares."""
    return Path(os.environ.get("CAGEMATCH_LOCKS") or SHARED)


def require_locks() -> None:
    """Make sure that leases can be had here; raise SandboxError where not."""
    Leases(locks_folder(), usable_cores()).check()


class PeerGone(Exception):
    """The process that the lease is for has gone away."""


def check(peer: socket.socket) -> None:
    """Raise PeerGone when the other end of a socket is closed, read or not what it said before."""
    ends = select.poll()
    ends.register(peer, select.POLLRDHUP)
    if ends.poll(0):
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


def _try(fd: int) -> bool:
    """Lock a descriptor exclusively if that needs no wait."""
    try:
        fcntl.flock(fd, fcntl.LOCK_EX | fcntl.LOCK_NB)
    except BlockingIOError:
        return False
    return True


class Leases:
    """The cores that one keeper holds."""

    def __init__(self, folder: Path, cores: list[int], root: Path = ROOT) -> None:
        self._folder = folder
        self._cores = {core: f"core-{min(siblings(core, root))}" for core in cores}
        self._held: dict[int, int] = {}

    def take(self, count: int, peer: socket.socket) -> list[int]:
        """Wait for ``count`` cores, or for all where there are fewer, and return their numbers.

        Raises PeerGone when the other end of ``peer`` closes meanwhile; nothing stays locked then.
        Raises SandboxError when the locks cannot be had at all.
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

    def take_one(self, within_s: float) -> int | None:
        """Take a core that is free while nobody waits for one; None when none was, however often it was tried."""
        deadline = time.monotonic() + within_s
        turnstile = self._open("turnstile")
        try:
            while not (_try(turnstile) and self._grab(1)):
                fcntl.flock(turnstile, fcntl.LOCK_UN)
                if time.monotonic() > deadline:
                    return None
                time.sleep(10 * LOOK_S)
        finally:
            os.close(turnstile)
        return next(iter(self._held))

    def check(self) -> None:
        """Open every lock without taking one; raise SandboxError where one cannot be had."""
        for name in ("turnstile", *self._cores.values()):
            os.close(self._open(name))

    def release(self) -> None:
        """Give every core back."""
        for fd in self._held.values():
            os.close(fd)
        self._held.clear()

    def _grab(self, wanted: int) -> bool:
        for core, name in self._cores.items():
            if len(self._held) == wanted:
                break
            if core in self._held:
                continue
            fd = self._open(name)
            if _try(fd):
                self._held[core] = fd
            else:
                os.close(fd)
        return len(self._held) == wanted

    def _open(self, name: str) -> int:
        try:
            _make(self._folder)
            return _open(self._folder / name)
        except OSError as error:
            raise SandboxError(
                f"the locks of the cores need a folder that every user of this host may write to: {error}; "
                "set CAGEMATCH_LOCKS to one"
            ) from error


def _make(folder: Path) -> None:
    """Make the folder for everybody; one that is there stays as it is, as it may be somebody else's."""
    with suppress(FileExistsError):
        folder.mkdir(parents=True)
        folder.chmod(0o1777)


def _open(path: Path) -> int:
    flags = os.O_RDWR | os.O_NOFOLLOW | os.O_CLOEXEC
    with suppress(FileNotFoundError):  # where it exists, the kernel may refuse O_CREAT in such a folder
        return os.open(path, flags)
    fd = os.open(path, flags | os.O_CREAT, 0o666)
    with suppress(PermissionError):
        os.fchmod(fd, 0o666)
    return fd
