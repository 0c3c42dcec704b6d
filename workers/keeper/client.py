"""The worker's end of a keeper: how a slot gets cores, sandboxes and answers."""

from __future__ import annotations

import os
import secrets
import select
import shutil
import socket
import subprocess
import sys
import tempfile
from collections.abc import Iterable, Iterator
from contextlib import suppress
from typing import TypeVar

from msgspec.structs import replace

from cagematch.problems.errors import SandboxError
from cagematch.workers.machine.processes import end_marked
from cagematch.workers.machine.topology import shared_with
from cagematch.workers.messages.control import (
    Abort,
    Aborted,
    Control,
    KeeperFailed,
    LeaseCores,
    LeasedCores,
    ReleaseCores,
    decode_control,
    encode_control,
)
from cagematch.workers.messages.frames import Frame, FrameError, FrameReader
from cagematch.workers.messages.protocol import (
    BatchSettings,
    MessageError,
    RunAnswer,
    RunRequest,
    decode_as,
    encode,
)

ENDING_S = 20.0  # for a keeper to end by itself
MARK = "CAGEMATCH_SLOT"  # environment variable of a keeper and all its descendants
RECEIVE = 1 << 18  # bytes
C = TypeVar("C", bound=Control)


class KeeperClient:
    """Starts a keeper and exchanges messages with it.

    One thread uses a client; only ``kill`` may be called from another. Every method raises SandboxError when the
    keeper has ended.
    """

    def __init__(self) -> None:
        self._socket, theirs = socket.socketpair()
        self._folder = tempfile.mkdtemp(prefix="cagematch-")
        self._mark = secrets.token_hex(16)
        with theirs:
            self._process = subprocess.Popen(
                [sys.executable, "-P", "-m", "cagematch.workers.keeper", str(theirs.fileno()), self._folder],
                env=os.environ | {MARK: self._mark},
                pass_fds=[theirs.fileno()],
                stdin=subprocess.DEVNULL,
                stdout=subprocess.DEVNULL,
                start_new_session=True,
            )
        self.in_turns = False
        self._settings: BatchSettings | None = None
        self._frames = FrameReader()
        self._ready = select.poll()
        self._ready.register(self._socket, select.POLLIN)

    @property
    def pid(self) -> int:
        """The keeper's process."""
        return self._process.pid

    def lease(self, threads: int) -> list[int]:
        """Wait for cores, without a limit, and return their numbers.

        Where this process has no other cores, answers are delivered ``in_turns``: when every run has one, and not
        while a run is in flight.
        """
        self._send(encode_control(LeaseCores(threads)))
        cores = self._wait_for(LeasedCores).cores
        self.in_turns = bool(shared_with(cores))
        return cores

    def release(self) -> None:
        """Release the cores."""
        self._send(encode_control(ReleaseCores()))

    def submit(self, runs: Iterable[RunRequest], settings: BatchSettings) -> None:
        """Send runs; they are solved in this order. Settings are sent only when they change."""
        data = b"".join(map(encode, runs))
        wanted = replace(settings, in_turns=self.in_turns) if settings.in_turns != self.in_turns else settings
        if wanted != self._settings:
            self._settings = wanted
            data = encode(wanted) + data
        self._send(data)

    def answers(self, within_s: float) -> Iterator[RunAnswer]:
        """Yield the answers that have arrived; wait up to ``within_s`` seconds for the first."""
        if self._ready.poll(max(0.0, within_s) * 1000):
            for message in self._receive():
                if isinstance(message, RunAnswer):
                    yield message

    def abort(self) -> None:
        """Cancel every run, kill the one in flight, and wait until both are done."""
        self._send(encode_control(Abort()))
        self._wait_for(Aborted)

    def kill(self) -> None:
        """Close the connection: the keeper kills all its descendants and ends. Any call in progress fails."""
        with suppress(OSError):  # already closed
            self._socket.shutdown(socket.SHUT_RDWR)

    def close(self) -> None:
        """End the keeper and wait for it; where it failed to clean up, kill what it left behind."""
        self._socket.close()
        try:
            code = self._process.wait(timeout=ENDING_S)
        except subprocess.TimeoutExpired:
            self._process.kill()
            code = self._process.wait()
        if code != 0:
            end_marked(f"{MARK}={self._mark}")
        shutil.rmtree(self._folder, ignore_errors=True)

    def _send(self, data: bytes) -> None:
        try:
            self._socket.sendall(data)
        except OSError as error:
            raise self._gone(error) from error

    def _receive(self) -> Iterator[Control | RunAnswer]:
        try:
            data = self._socket.recv(RECEIVE)
            messages = [_decode(frame) for frame in self._frames.feed(data)]
        except (OSError, FrameError, MessageError) as error:
            raise self._gone(error) from error
        if not data:
            raise self._gone("it closed the connection")
        for message in messages:
            if isinstance(message, KeeperFailed):
                raise self._gone(message.reason)
            yield message

    def _gone(self, why: object) -> SandboxError:
        return SandboxError(f"the keeper (process {self.pid}) is gone: {why}")

    def _wait_for(self, expected: type[C]) -> C:
        while True:
            for message in self._receive():
                if isinstance(message, expected):
                    return message


def _decode(frame: Frame) -> Control | RunAnswer:
    control = decode_control(frame)
    return decode_as(RunAnswer, frame) if control is None else control
