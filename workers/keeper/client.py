"""The worker's end of a keeper: a slot's way to cores, sandboxes and answers."""

from __future__ import annotations

import json
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
from dataclasses import dataclass
from typing import Any

from cagematch.problems.errors import SandboxError
from cagematch.problems.outcome import SOLVING, Asked
from cagematch.workers.machine.processes import end_marked
from cagematch.workers.machine.topology import shared_with
from cagematch.workers.messages.framing import Lines, Message, NotALine, encode

GRACE_S = 0.5  # how long past its limit a run may still answer before it is killed
ENDING_S = 20.0  # for a keeper to end by itself
MARK = "CAGEMATCH_SLOT"  # in the environment of a keeper and of all that comes of it


@dataclass(frozen=True, slots=True)
class Limits:
    """What a run may use: seconds of wall time, MiB of resident memory."""

    time_s: float
    memory_mib: int
    grace_s: float = GRACE_S


@dataclass(frozen=True, slots=True)
class Job:
    """One run as the keeper needs it. ``number`` is unique in the keeper's life and starts at 1."""

    number: int
    family: str
    configuration: str
    kind: str
    text: str
    seed: int


class KeeperClient:
    """A keeper of one's own. Not for several threads at once; ``kill`` alone may come from another."""

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
        self._lines = Lines()
        self._ready = select.poll()
        self._ready.register(self._socket, select.POLLIN)

    @property
    def pid(self) -> int:
        """The keeper's process."""
        return self._process.pid

    def lease(self, threads: int) -> list[int]:
        """Wait for cores, however long it takes, and return their numbers.

        Where this process has no others, answers come ``in_turns``: when every run has its own, and not during one.
        """
        self._say({"do": "lease", "threads": threads})
        cores = list(self._wait_for("cores"))
        self.in_turns = bool(shared_with(cores))
        return cores

    def release(self) -> None:
        """Give the cores back."""
        self._say({"do": "release"})

    def submit(self, jobs: Iterable[Job], limits: Limits, asked: Asked = SOLVING) -> None:
        """Hand over runs; they are done in this order."""
        limit = {"limit_s": limits.time_s, "memory_mib": limits.memory_mib, "grace_s": limits.grace_s}
        same = limit | {"task": asked.task, "bound": asked.bound}
        self._say({"do": "runs", "runs": [_run(job) | same for job in jobs], "together": self.in_turns})

    def answers(self, within_s: float) -> Iterator[Message]:
        """The answers that come until ``within_s`` seconds have passed or some have come."""
        if self._ready.poll(max(0.0, within_s) * 1000):
            yield from self._receive()

    def abort(self) -> None:
        """Drop every run, kill the one under way, and wait until that is done."""
        self._say({"do": "abort"})
        self._wait_for("aborted")

    def kill(self) -> None:
        """Close the connection: the keeper kills all that it has and ends. Any call in progress fails."""
        with suppress(OSError):  # closed already
            self._socket.shutdown(socket.SHUT_RDWR)

    def close(self) -> None:
        """End the keeper and wait for it; when it did not end as it should, end what it left behind."""
        self._socket.close()
        try:
            code = self._process.wait(timeout=ENDING_S)
        except subprocess.TimeoutExpired:
            self._process.kill()
            code = self._process.wait()
        if code != 0:
            end_marked(f"{MARK}={self._mark}")
        shutil.rmtree(self._folder, ignore_errors=True)

    def _say(self, message: Message) -> None:
        try:
            self._socket.sendall(encode(message))
        except OSError as error:
            raise self._gone(error) from error

    def _receive(self) -> Iterator[Message]:
        try:
            data = self._socket.recv(1 << 18)
            messages = [json.loads(line) for line in self._lines.feed(data)]
        except (OSError, ValueError, NotALine) as error:
            raise self._gone(error) from error
        if not data:
            raise self._gone("it closed the connection")
        for message in messages:
            if "failed" in message:
                raise self._gone(message["failed"])
            yield message

    def _gone(self, why: object) -> SandboxError:
        return SandboxError(f"the keeper (process {self.pid}) is gone: {why}")

    def _wait_for(self, key: str) -> Any:
        while True:
            for message in self._receive():
                if key in message:
                    return message[key]


def _run(job: Job) -> Message:
    return {
        "n": job.number,
        "family": job.family,
        "configuration": job.configuration,
        "kind": job.kind,
        "text": job.text,
        "seed": job.seed,
    }
