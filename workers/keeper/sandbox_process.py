"""The keeper's end of one sandbox: starting it, talking to it, and what was last seen of it."""

from __future__ import annotations

import fcntl
import os
import shutil
import signal
import sys
import tempfile
import time
from collections.abc import Collection, Iterator
from contextlib import suppress

from cagematch.workers.machine.cgroups import MemoryGroup
from cagematch.workers.machine.processes import Watched, pin
from cagematch.workers.messages.framing import PAGE_FD, Lines, Message, encode
from cagematch.workers.sandbox.shared_page import Page

STDERR_KEPT = 4096
STDERR_PIPE = 1 << 20  # a solver that chatters should not have to wait for the keeper's next tick
READ = 1 << 16
# One thread a solve means one: libraries that start helpers of their own accord are told not to.
QUIET_THREADS = dict.fromkeys(("OMP_NUM_THREADS", "OPENBLAS_NUM_THREADS", "MKL_NUM_THREADS"), "1")
UNSETTABLE = {signal.SIGKILL, signal.SIGSTOP}


class SandboxProcess:
    """A live sandbox process, in a folder of its own below ``folder``."""

    def __init__(self, cores: Collection[int], folder: str) -> None:
        self.warmed: set[str] = set()
        self.waited_for_s = time.monotonic()  # since when its next sign of life is awaited
        self._folder = tempfile.mkdtemp(dir=folder)
        self._lines = Lines()
        self._unsent = bytearray()
        self._stderr = bytearray()
        page = Page.create()
        runs_out, self._runs = os.pipe()
        self._answers, answers_in = os.pipe()
        self._errors, stderr_in = os.pipe()
        null = os.open(os.devnull, os.O_RDWR)
        # In this order they become 0, 1, 2, RUNS_FD, ANSWERS_FD and PAGE_FD of the sandbox.
        high = [_above(fd, PAGE_FD) for fd in (null, null, stderr_in, runs_out, answers_in, page)]
        self.pid = _start(high, _environment(self._folder))
        for fd in (*high, null, stderr_in, runs_out, answers_in):
            os.close(fd)
        self.process = Watched(self.pid)
        self._group = MemoryGroup.create(self.pid)
        self._kills = 0
        self.page = Page(page)
        os.close(page)
        self.pidfd = os.pidfd_open(self.pid)
        for fd in (self._runs, self._answers, self._errors):
            os.set_blocking(fd, False)
        with suppress(OSError):
            fcntl.fcntl(self._errors, fcntl.F_SETPIPE_SZ, STDERR_PIPE)
        self.pin(cores)

    @property
    def answers(self) -> int:
        """The descriptor that becomes readable when answers come."""
        return self._answers

    def pin(self, cores: Collection[int]) -> None:
        """Move the process to the given cores."""
        pin(self.pid, cores)

    def limit_memory(self, mib: int) -> None:
        """Have the kernel hold the limit, where it lets us; the keeper looks after it in any case."""
        if self._group:
            self._group.limit(mib)

    def lost_to_memory(self) -> bool:
        """Whether the kernel has killed a process of the run for its memory since this was last asked."""
        before, self._kills = self._kills, self._group.kills() if self._group else 0
        return self._kills > before

    def send(self, runs: Collection[Message]) -> None:
        """Hand over runs, as far as the pipe takes them; the rest goes with the next call."""
        self._unsent += b"".join(map(encode, runs))
        with suppress(BlockingIOError, BrokenPipeError):
            while self._unsent:
                del self._unsent[: os.write(self._runs, self._unsent[:READ])]

    def read(self) -> list[bytes]:
        """The answers that have come. Raises NotALine when something else has."""
        lines: list[bytes] = []
        for data in _drain(self._answers):
            lines += self._lines.feed(data)
        if lines:
            self.waited_for_s = time.monotonic()
        return lines

    def drain_errors(self) -> None:
        """Take what the sandbox wrote to standard error and keep the end of it."""
        for data in _drain(self._errors, STDERR_PIPE // READ):
            self._stderr += data
            del self._stderr[:-STDERR_KEPT]

    @property
    def last_words(self) -> str:
        """The last 4 KiB of standard error."""
        self.drain_errors()
        return self._stderr.decode(errors="replace").strip()

    def close(self) -> None:
        """Forget the process, which has ended, and remove its files."""
        for fd in (self._runs, self._answers, self._errors, self.pidfd):
            os.close(fd)
        self.process.close()
        self.page.close()
        if self._group:
            self._group.remove()
        shutil.rmtree(self._folder, ignore_errors=True)


def _start(descriptors: list[int], environment: dict[str, str]) -> int:
    """Start a sandbox whose descriptors 0, 1, 2, … are the given ones; return its process."""
    command = [sys.executable, "-P", "-m", "cagematch.workers.sandbox", str(os.getpid())]
    actions = [(os.POSIX_SPAWN_DUP2, fd, to) for to, fd in enumerate(descriptors)]
    defaults = signal.valid_signals() - UNSETTABLE
    return os.posix_spawn(sys.executable, command, environment, file_actions=actions, setsigdef=defaults)


def _environment(folder: str) -> dict[str, str]:
    """Ours without the addresses (and passwords) of our services: no solver needs to know them."""
    kept = {k: v for k, v in os.environ.items() if not (k.startswith("CAGEMATCH_") and k.endswith("_URL"))}
    return kept | QUIET_THREADS | {"TMPDIR": folder}


def _drain(fd: int, most: int = 1 << 10) -> Iterator[bytes]:
    """Read what is there, in ``most`` pieces at most: a writer may be quicker than its reader."""
    with suppress(BlockingIOError):
        for _ in range(most):
            data = os.read(fd, READ)
            if not data:
                return
            yield data
            if len(data) < READ:
                return


def _above(fd: int, floor: int) -> int:
    """Duplicate a descriptor above ``floor``, out of the way of the numbers that a sandbox is given."""
    return fcntl.fcntl(fd, fcntl.F_DUPFD_CLOEXEC, floor + 1)
