"""The worker's end of a keeper: a slot's way to cores, sandboxes and answers."""

from __future__ import annotations

import json
import select
import socket
import subprocess
import sys
from collections.abc import Iterable, Iterator
from dataclasses import dataclass
from typing import Any

from problems.errors import SandboxError
from workers.wire import Lines, Message, encode

GRACE_S = 0.5  # how long past its limit a run may still answer before it is killed


@dataclass(frozen=True, slots=True)
class Limits:
    """What a run may use: seconds of wall time, MiB of resident memory."""

    time_s: float
    memory_mib: int
    grace_s: float = GRACE_S


@dataclass(frozen=True, slots=True)
class Job:
    """One run as the keeper needs it. ``number`` is unique in the cage's life and starts at 1."""

    number: int
    family: str
    configuration: str
    kind: str
    text: str
    seed: int


class Cage:
    """A keeper of one's own. Not for several threads at once; ``kill`` alone may come from another."""

    def __init__(self) -> None:
        ours, theirs = socket.socketpair()
        command = [sys.executable, "-P", "-m", "workers.keeper", str(theirs.fileno())]
        self._process = subprocess.Popen(
            command, pass_fds=[theirs.fileno()], stdin=subprocess.DEVNULL, stdout=subprocess.DEVNULL, start_new_session=True
        )
        theirs.close()
        self._socket = ours
        self._lines = Lines()
        self._ready = select.poll()
        self._ready.register(ours, select.POLLIN)

    @property
    def pid(self) -> int:
        """The keeper's process."""
        return self._process.pid

    def lease(self, threads: int) -> list[int]:
        """Wait for cores, however long it takes, and return their numbers."""
        self._say({"do": "lease", "threads": threads})
        return list(self._wait_for("cores"))

    def release(self) -> None:
        """Give the cores back."""
        self._say({"do": "release"})

    def submit(self, jobs: Iterable[Job], limits: Limits) -> None:
        """Hand over runs; they are done in this order."""
        limit = {"limit_s": limits.time_s, "memory_mib": limits.memory_mib, "grace_s": limits.grace_s}
        runs = [
            {
                "n": job.number,
                "family": job.family,
                "configuration": job.configuration,
                "kind": job.kind,
                "text": job.text,
                "seed": job.seed,
            }
            | limit
            for job in jobs
        ]
        self._say({"do": "runs", "runs": runs})

    def answers(self, within_s: float) -> Iterator[Message]:
        """The answers that come until ``within_s`` seconds have passed or some have come."""
        if not self._ready.poll(max(0.0, within_s) * 1000):
            return
        yield from (json.loads(line) for line in self._receive())

    def abort(self) -> None:
        """Drop every run, kill the one under way, and wait until that is done."""
        self._say({"do": "abort"})
        self._wait_for("aborted")

    def kill(self) -> None:
        """Close the connection: the keeper kills all that it has and ends. Any call in progress fails."""
        self._socket.shutdown(socket.SHUT_RDWR)

    def close(self) -> None:
        """End the keeper and wait for it."""
        self._socket.close()
        try:
            self._process.wait(timeout=20)
        except subprocess.TimeoutExpired:
            self._process.kill()
            self._process.wait()

    def _say(self, message: Message) -> None:
        try:
            self._socket.sendall(encode(message))
        except OSError as error:
            raise SandboxError(f"the keeper is gone: {error}") from error

    def _receive(self) -> list[bytes]:
        data = self._socket.recv(1 << 18)
        if not data:
            raise SandboxError(f"the keeper (process {self.pid}) is gone")
        return list(self._lines.feed(data))

    def _wait_for(self, key: str) -> Any:
        while True:
            for line in self._receive():
                message = json.loads(line)
                if key in message:
                    return message[key]
