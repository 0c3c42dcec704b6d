"""The runs that a keeper was given, in order, until each is answered once."""

from __future__ import annotations

import time
from collections import Counter, deque
from collections.abc import Iterator
from typing import NamedTuple

from cagematch.problems.terms import Answer, Stop
from cagematch.workers.messages.frames import Frame
from cagematch.workers.messages.protocol import BatchSettings, RunAnswer, encode

RETRIES = 2  # of a run that was disturbed from outside
HOLD_S = 0.5  # how long an answer waits for those to be delivered with it


class PendingRun(NamedTuple):
    """A run as the worker sent it, and the settings that were valid at that point."""

    request: Frame
    settings: BatchSettings

    @property
    def number(self) -> int:
        """The number of the run."""
        return self.request.number


class Used(NamedTuple):
    """What a run had used when it was ended: seconds of wall and CPU time, and MiB. None where it is not known."""

    wall_s: float = 0.0
    cpu_s: float | None = None
    peak_mib: float | None = None


class PendingRuns:
    """Runs without an answer. The first ``sent`` of them are with a sandbox; answers go into the outbox as frames.

    Where answers are delivered ``in_turns``, each is held until the last run has one, or for HOLD_S.
    """

    def __init__(self, outbox: bytearray) -> None:
        self._outbox = outbox
        self.sent = 0
        self._held = bytearray()
        self._held_since = 0.0
        self._runs: deque[PendingRun] = deque()
        self._disturbed: Counter[int] = Counter()
        self._in_turns = False

    def __len__(self) -> int:
        return len(self._runs)

    @property
    def first(self) -> PendingRun:
        """The run to be answered next. Raises IndexError when there is none."""
        return self._runs[0]

    @property
    def due(self) -> int:
        """The number of the first run, 0 when there is none."""
        return self._runs[0].number if self._runs else 0

    def add(self, request: Frame, settings: BatchSettings) -> None:
        """Append a run."""
        self._in_turns = settings.in_turns
        self._runs.append(PendingRun(request, settings))

    def hand_out(self) -> Iterator[PendingRun]:
        """Yield the runs that may go to the sandbox of the first one: those behind it of the same family."""
        family = self.first.settings.family
        while self.sent < len(self._runs) and self._runs[self.sent].settings.family == family:
            self.sent += 1
            yield self._runs[self.sent - 1]

    def recall(self) -> None:
        """The sandbox has ended: mark its unanswered runs as not sent."""
        self.sent = 0

    def clear(self) -> None:
        """Cancel every run and discard every held answer."""
        self._runs.clear()
        self._held.clear()
        self.sent = 0

    def forward(self, frame: Frame) -> bool:
        """Queue a sandbox's answer as it is; return False when it is not the answer to the first run."""
        if frame.number != self.due or not self._runs:
            return False
        self._answered(frame.data)
        return True

    def answer(self, stop: Stop, detail: str, used: Used | None = None, signal: int | None = None) -> None:
        """Answer the first run on behalf of its sandbox."""
        wall_s, cpu_s, peak_mib = used or Used()
        message = RunAnswer(
            self.due, Answer.UNKNOWN, stop, wall_s, detail, cpu_s=cpu_s, peak_mib=peak_mib, signal=signal
        )
        self._answered(encode(message))

    def disturb(self, how: str) -> None:
        """Schedule the first run again; after RETRIES times its outcome is an error."""
        if not self._runs:
            return
        self._disturbed[self.due] += 1
        if self._disturbed[self.due] > RETRIES:
            self.answer(Stop.ERROR, f"{how}, {RETRIES + 1} times")

    def release(self) -> None:
        """Queue the held answers if nothing more will join them, or if they have waited for HOLD_S."""
        if self._held and not (self._in_turns and self._runs and time.monotonic() - self._held_since < HOLD_S):
            self._outbox += self._held
            self._held.clear()

    def _answered(self, frame: bytes) -> None:
        if not self._held:
            self._held_since = time.monotonic()
        self._held += frame
        del self._disturbed[self.due]
        self._runs.popleft()
        self.sent = max(0, self.sent - 1)
        self.release()
