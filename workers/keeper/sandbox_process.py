"""A sandbox process as its keeper sees it: starting it, sending runs, reading answers."""

from __future__ import annotations

import fcntl
import itertools
import os
import signal
import sys
import time
from collections.abc import Collection, Iterator
from contextlib import suppress

from msgspec.structs import replace

from cagematch.workers.keeper.folders import remove_folder
from cagematch.workers.keeper.pending_runs import PendingRun
from cagematch.workers.machine.cgroups import MemoryGroup
from cagematch.workers.machine.processes import Watched, pin
from cagematch.workers.messages.frames import PAGE_FD, Frame, FrameReader
from cagematch.workers.messages.protocol import BatchSettings, encode
from cagematch.workers.sandbox.shared_page import Page

STDERR_KEPT = 4096  # bytes, the end of standard error
STDERR_PIPE = 1 << 20  # bytes; a solver that prints a lot must not wait for the keeper's next tick
READ = 1 << 16  # bytes
# One thread per solve: libraries must not start helper threads on their own.
QUIET_THREADS = dict.fromkeys(("OMP_NUM_THREADS", "OPENBLAS_NUM_THREADS", "MKL_NUM_THREADS"), "1")
_numbers = itertools.count(1)
UNSETTABLE = {signal.SIGKILL, signal.SIGSTOP}


class SandboxProcess:
    """A live sandbox process with its own folder below ``folder``.

    Attributes
    ----------
    warmed
        The configurations that this process has been warmed up for.
    waited_for_s
        Monotonic time since when its next sign of life is expected.
    """

    def __init__(self, cores: Collection[int], folder: str) -> None:
        self.warmed: set[str] = set()
        self.waited_for_s = time.monotonic()
        self._folder = f"{folder}/{next(_numbers)}"
        os.mkdir(self._folder, 0o700)  # noqa: PTH102 - pathlib would slow the keeper's start
        self._frames = FrameReader()
        self._settings: BatchSettings | None = None  # the last that it was sent
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
        """The descriptor that becomes readable when answers arrive."""
        return self._answers

    def pin(self, cores: Collection[int]) -> None:
        """Move the process to the given cores."""
        pin(self.pid, cores)

    def limit_memory(self, mib: int) -> None:
        """Let the kernel enforce the limit where cgroups are available; the keeper checks it in any case."""
        if self._group:
            self._group.limit(mib)

    def lost_to_memory(self) -> bool:
        """Whether the kernel has killed a process for its memory since the last call."""
        before, self._kills = self._kills, self._group.kills() if self._group else 0
        return self._kills > before

    def queue(self, run: PendingRun, *, warm_up: bool) -> None:
        """Queue a run, after its settings where these differ from the last ones."""
        if run.settings != self._settings:
            self._settings = run.settings
            self._unsent += encode(replace(run.settings, warm_up=warm_up))
        self._unsent += run.request.data

    def send(self) -> None:
        """Write the queued runs until the pipe is full; the next call writes the rest."""
        with suppress(BlockingIOError, BrokenPipeError):
            while self._unsent:
                del self._unsent[: os.write(self._runs, self._unsent[:READ])]

    def read(self) -> list[Frame]:
        """Return the answers that have arrived.

        Raises
        ------
        FrameError
            Something else than frames was written to the channel.
        """
        frames: list[Frame] = []
        for data in _drain(self._answers):
            frames += self._frames.feed(data)
        if frames:
            self.waited_for_s = time.monotonic()
        return frames

    def drain_errors(self) -> None:
        """Read standard error and keep the end of it."""
        for data in _drain(self._errors, STDERR_PIPE // READ):
            self._stderr += data
            del self._stderr[:-STDERR_KEPT]

    @property
    def last_words(self) -> str:
        """The last 4 KiB of standard error."""
        self.drain_errors()
        return self._stderr.decode(errors="replace").strip()

    def close(self) -> None:
        """Release the resources of the process, which has ended, and remove its files."""
        for fd in (self._runs, self._answers, self._errors, self.pidfd):
            os.close(fd)
        self.process.close()
        self.page.close()
        if self._group:
            self._group.remove()
        remove_folder(self._folder)


def _start(descriptors: list[int], environment: dict[str, str]) -> int:
    """Start a sandbox with the given descriptors as 0, 1, 2, …; return its process id."""
    command = [sys.executable, "-P", "-m", "cagematch.workers.sandbox", str(os.getpid())]
    actions = [(os.POSIX_SPAWN_DUP2, fd, to) for to, fd in enumerate(descriptors)]
    defaults = signal.valid_signals() - UNSETTABLE
    return os.posix_spawn(sys.executable, command, environment, file_actions=actions, setsigdef=defaults)


def _environment(folder: str) -> dict[str, str]:
    """The environment without the addresses and passwords of the services: no solver needs them."""
    kept = {k: v for k, v in os.environ.items() if not (k.startswith("CAGEMATCH_") and k.endswith("_URL"))}
    return kept | QUIET_THREADS | {"TMPDIR": folder}


def _drain(fd: int, most: int = 1 << 10) -> Iterator[bytes]:
    """Read the available data in at most ``most`` pieces: a writer may be faster than its reader."""
    with suppress(BlockingIOError):
        for _ in range(most):
            data = os.read(fd, READ)
            if not data:
                return
            yield data
            if len(data) < READ:
                return


def _above(fd: int, floor: int) -> int:
    """Duplicate a descriptor above ``floor``, out of the range that the sandbox uses."""
    return fcntl.fcntl(fd, fcntl.F_DUPFD_CLOEXEC, floor + 1)
