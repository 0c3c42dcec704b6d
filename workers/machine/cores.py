"""Host-wide leases of CPU cores: one lock file per core, and a turnstile.

A lease is a ``flock``: the kernel frees it when its holder dies, and containers share it through a volume. It covers a
whole core, as all hardware threads of a core share one file, named after the first of them.

``flock`` has no queue: a claimant of two cores would starve next to claimants of one. So a claimant first locks the
turnstile and waits there until all its cores are free. The next claimant waits for the turnstile.
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

LOCKS = "CAGEMATCH_LOCKS"  # The variable with the folder of the lock files.

# The default folder. TMPDIR does not change it, as users and jobs with different TMPDIR share the same cores.
SHARED = "/tmp/cagematch-cores"  # noqa: S108 - opened without following links

TURNSTILE = "turnstile"
POLL_S = 0.002  # Seconds between two attempts to lock cores, of the one claimant inside the turnstile.
SURVEY_POLL_S = 10 * POLL_S  # The same for a claimant that gives way to all others.
PEER_CHECK_S = 5.0  # Seconds between two checks of the peer, in case a signal was lost.


def locks_folder() -> Path:
    """Return the folder of the lock files: CAGEMATCH_LOCKS, or a folder that every user of the host shares."""
    return Path(os.environ.get(LOCKS) or SHARED)


def require_locks() -> None:
    """Check that cores can be leased here.

    Raises
    ------
    SandboxError
        A lock file cannot be opened.
    """
    Leases(locks_folder(), usable_cores()).check()


class PeerGone(Exception):
    """The process that the lease is for has ended."""


def require_connected(peer: socket.socket) -> None:
    """Raise PeerGone when the other end of a socket is closed, even if unread data is left."""
    ends = select.poll()
    ends.register(peer, select.POLLRDHUP)
    if ends.poll(0):
        raise PeerGone


def _lock(fd: int, peer: socket.socket) -> None:
    """Lock a descriptor exclusively; wait without limit, but raise PeerGone once the peer has ended.

    The kernel does the waiting, which costs nothing and keeps the order of claimants. The end of the peer raises
    SIGIO, whose handler interrupts the wait. SIGALRM covers a SIGIO that arrives just before the wait starts.
    """
    flags = fcntl.fcntl(peer, fcntl.F_GETFL)
    for number in (signal.SIGIO, signal.SIGALRM):
        signal.signal(number, lambda *_: require_connected(peer))
    fcntl.fcntl(peer, fcntl.F_SETOWN, os.getpid())
    fcntl.fcntl(peer, fcntl.F_SETFL, flags | os.O_ASYNC)
    signal.setitimer(signal.ITIMER_REAL, PEER_CHECK_S, PEER_CHECK_S)
    try:
        require_connected(peer)
        fcntl.flock(fd, fcntl.LOCK_EX)
    finally:
        signal.setitimer(signal.ITIMER_REAL, 0)
        fcntl.fcntl(peer, fcntl.F_SETFL, flags)
        signal.signal(signal.SIGIO, signal.SIG_IGN)


def _try_lock(fd: int) -> bool:
    """Lock a descriptor exclusively if it is free."""
    try:
        fcntl.flock(fd, fcntl.LOCK_EX | fcntl.LOCK_NB)
    except BlockingIOError:
        return False
    return True


class Leases:
    """The cores that one keeper holds.

    Parameters
    ----------
    folder
        Where the lock files are, shared by all workers of the host.
    cores
        The cores to lease from, each by the number of one of its hardware threads.
    root
        The folder that contains ``sys``.
    """

    def __init__(self, folder: Path, cores: list[int], root: Path = ROOT) -> None:
        self._folder = folder
        self._cores = {core: f"core-{min(siblings(core, root))}" for core in cores}
        self._held: dict[int, int] = {}

    def take(self, count: int, peer: socket.socket) -> list[int]:
        """Wait for ``count`` cores, or for all where there are fewer, and return their numbers.

        Raises
        ------
        PeerGone
            The other end of ``peer`` closed during the wait. No core stays locked.
        SandboxError
            A lock file cannot be opened.
        """
        wanted = min(count, len(self._cores))
        turnstile = self._open(TURNSTILE)
        try:
            _lock(turnstile, peer)
            while not self._lock_free(wanted):
                require_connected(peer)
                time.sleep(POLL_S)
        except BaseException:
            self.release()
            raise
        finally:
            os.close(turnstile)
        return sorted(self._held)

    def take_one(self, within_s: float) -> int | None:
        """Take a core that is free while no claimant waits; return None when none is free within ``within_s`` seconds.

        Raises
        ------
        SandboxError
            A lock file cannot be opened.
        """
        deadline = time.monotonic() + within_s
        turnstile = self._open(TURNSTILE)
        try:
            while not (_try_lock(turnstile) and self._lock_free(1)):
                fcntl.flock(turnstile, fcntl.LOCK_UN)
                if time.monotonic() > deadline:
                    return None
                time.sleep(SURVEY_POLL_S)
        finally:
            os.close(turnstile)
        return next(iter(self._held))

    def check(self) -> None:
        """Open every lock file without locking it.

        Raises
        ------
        SandboxError
            A lock file cannot be opened.
        """
        for name in (TURNSTILE, *self._cores.values()):
            os.close(self._open(name))

    def release(self) -> None:
        """Release every core."""
        for fd in self._held.values():
            os.close(fd)
        self._held.clear()

    def _lock_free(self, wanted: int) -> bool:
        """Lock free cores until ``wanted`` are held; return whether they are."""
        for core, name in self._cores.items():
            if len(self._held) == wanted:
                break
            if core in self._held:
                continue
            fd = self._open(name)
            if _try_lock(fd):
                self._held[core] = fd
            else:
                os.close(fd)
        return len(self._held) == wanted

    def _open(self, name: str) -> int:
        try:
            _make_folder(self._folder)
            return _open_file(self._folder / name)
        except OSError as error:
            raise SandboxError(
                f"cannot open the lock file of a core: {error}; expected a folder that every user of this host can "
                f"write to; set {LOCKS} to one"
            ) from error


def _make_folder(folder: Path) -> None:
    """Create the folder for every user; an existing one keeps its mode, as another user may own it."""
    with suppress(FileExistsError):
        folder.mkdir(parents=True)
        folder.chmod(0o1777)


def _open_file(path: Path) -> int:
    flags = os.O_RDWR | os.O_NOFOLLOW | os.O_CLOEXEC
    # Open without O_CREAT first: in a sticky folder the kernel may refuse O_CREAT for an existing file.
    with suppress(FileNotFoundError):
        return os.open(path, flags)
    fd = os.open(path, flags | os.O_CREAT, 0o666)
    with suppress(PermissionError):
        os.fchmod(fd, 0o666)
    return fd
