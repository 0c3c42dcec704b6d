"""The docket: the runs that a keeper has been given, in their order, until each is answered once."""

from __future__ import annotations

import time
from collections import Counter, deque
from collections.abc import Iterator
from typing import Any

from cagematch.workers.messages.framing import Message, encode

RETRIES = 2  # of a run that something outside disturbed
HOLD_S = 0.5  # how long an answer is kept for those that are to go with it


class PendingRuns:
    """Runs not answered yet, of which the first ``sent`` are with a sandbox; answers go into ``outbox``.

    Where they are to go ``together``, an answer is held until the last run has its own, or for HOLD_S.
    """

    def __init__(self) -> None:
        self.outbox = bytearray()
        self.sent = 0
        self._together = False
        self._held = bytearray()
        self._held_since = 0.0
        self._runs: deque[Message] = deque()
        self._disturbed: Counter[int] = Counter()

    def __len__(self) -> int:
        return len(self._runs)

    @property
    def first(self) -> Message:
        """The run whose answer is due."""
        return self._runs[0]

    @property
    def due(self) -> int:
        """The number of the first run, 0 when there is none."""
        return int(self._runs[0]["n"]) if self._runs else 0

    def add(self, runs: list[Message], *, together: bool = False) -> None:
        """Take more runs."""
        self._together = together
        self._runs.extend(runs)

    def hand_out(self) -> Iterator[Message]:
        """The runs that may go to the sandbox that has the first: those after it of the same family."""
        family = self.first["family"]
        while self.sent < len(self._runs) and self._runs[self.sent]["family"] == family:
            self.sent += 1
            yield self._runs[self.sent - 1]

    def recall(self) -> None:
        """The sandbox is gone: what it was sent and has not answered is to be sent again."""
        self.sent = 0

    def clear(self) -> None:
        """Forget every run, and what is held."""
        self._runs.clear()
        self._held.clear()
        self.sent = 0

    def say(self, message: Message) -> None:
        """Queue a message for the worker."""
        self.outbox += encode(message)

    def pass_on(self, line: bytes) -> bool:
        """Queue a sandbox's answer as it is; False when it does not begin as the answer that is due."""
        if not line.startswith(b'{"n":%d,' % self.due):
            return False
        self._answered(line + b"\n")
        return True

    def answer(self, stop: str, detail: str, wall_s: float = 0.0, **more: Any) -> None:
        """Answer the first run in place of its sandbox."""
        told = {"n": self.due, "answer": "unknown", "stop": stop, "detail": detail, "wall_s": wall_s}
        self._answered(encode(told | more))

    def disturb(self, how: str) -> None:
        """Have the first run done again, but not for ever."""
        if not self._runs:
            return
        self._disturbed[self.due] += 1
        if self._disturbed[self.due] > RETRIES:
            self.answer("error", f"{how}, {RETRIES + 1} times")

    def release(self) -> None:
        """Queue what has been held for long enough, or for nothing more to come."""
        if self._held and not (self._together and self._runs and time.monotonic() - self._held_since < HOLD_S):
            self.outbox += self._held
            self._held.clear()

    def _answered(self, line: bytes) -> None:
        if not self._held:
            self._held_since = time.monotonic()
        self._held += line
        del self._disturbed[self.due]
        self._runs.popleft()
        self.sent = max(0, self.sent - 1)
        self.release()
