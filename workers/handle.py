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

from workers.page import Page
from workers.processes import pin
from workers.wire import PAGE_FD, Lines, Message, encode

STDERR_KEPT = 4096
READ = 1 << 16
# One thread a solve means one: libraries that start helpers of their own accord are told not to.
QUIET_THREADS = {name: "1" for name in ("OMP_NUM_THREADS", "OPENBLAS_NUM_THREADS", "MKL_NUM_THREADS")}

SECRETS = ("CAGEMATCH_DATABASE_URL", "CAGEMATCH_BROKER_URL")  # no solver needs to know
UNSETTABLE = {signal.SIGKILL, signal.SIGSTOP}


class Handle:
    """A live sandbox process."""

    def __init__(self, cores: Collection[int]) -> None:
        self.warmed: set[str] = set()
        self.since_s = time.monotonic()  # of the last sign of life: start or answer
        self.folder = tempfile.mkdtemp(prefix="cagematch-")
        self._lines = Lines()
        self._unsent = bytearray()
        self._stderr = bytearray()
        page = Page.create()
        runs_out, runs_in = os.pipe()
        answers_out, answers_in = os.pipe()
        stderr_out, stderr_in = os.pipe()
        null = os.open(os.devnull, os.O_RDWR)
        self._runs, self._answers, self._errors = runs_in, answers_out, stderr_out
        high = [_above(fd, PAGE_FD) for fd in (null, null, stderr_in, runs_out, answers_in, page)]
        # In this order they become 0, 1, 2, RUNS_FD, ANSWERS_FD and PAGE_FD of the sandbox.
        actions = [(os.POSIX_SPAWN_DUP2, fd, to) for to, fd in enumerate(high)]
        command = [sys.executable, "-P", "-m", "workers.sandbox", str(os.getpid())]
        environment = {k: v for k, v in os.environ.items() if k not in SECRETS} | QUIET_THREADS
        environment["TMPDIR"] = self.folder
        self.pid = os.posix_spawn(
            sys.executable, command, environment, file_actions=actions, setsigdef=signal.valid_signals() - UNSETTABLE
        )
        for fd in (*high, null, stderr_in, runs_out, answers_in):
            os.close(fd)
        self.page = Page(page)
        os.close(page)
        self.pidfd = os.pidfd_open(self.pid)
        for fd in (self._runs, self._answers, self._errors):
            os.set_blocking(fd, False)
        self.pin(cores)

    @property
    def answers(self) -> int:
        """The descriptor that becomes readable when answers come."""
        return self._answers

    def pin(self, cores: Collection[int]) -> None:
        """Move the process to the given cores."""
        pin(self.pid, cores)

    def send(self, run: Message) -> None:
        """Queue a run for the sandbox."""
        self._unsent += encode(run)
        self.push()

    def push(self) -> None:
        """Hand over as much of what is queued as the pipe takes."""
        with suppress(BlockingIOError, BrokenPipeError):
            while self._unsent:
                del self._unsent[: os.write(self._runs, self._unsent[:READ])]

    def read(self) -> Iterator[bytes]:
        """The answers that have come."""
        for data in _drain(self._answers):
            self.since_s = time.monotonic()
            yield from self._lines.feed(data)

    def drain_errors(self) -> None:
        """Take what the sandbox wrote to standard error, one pipe-full at most, and keep the end of it."""
        with suppress(BlockingIOError):
            self._stderr += os.read(self._errors, READ)
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
        shutil.rmtree(self.folder, ignore_errors=True)


def _drain(fd: int) -> Iterator[bytes]:
    with suppress(BlockingIOError):
        while data := os.read(fd, READ):
            yield data


def _above(fd: int, floor: int) -> int:
    """Duplicate a descriptor above ``floor``, out of the way of the numbers that a sandbox is given."""
    return fcntl.fcntl(fd, fcntl.F_DUPFD_CLOEXEC, floor + 1)
