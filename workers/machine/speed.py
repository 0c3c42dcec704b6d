"""How fast a core is: what the reference, 10,000 rounds of SHA-256, would take on it, going by a few of them.

A look of 20 µs is enough to tell that something else is at work on the same physical core: a thread of another virtual
machine, which no counter of this kernel tells of, makes it take twice as long.
"""

from __future__ import annotations

import hashlib
import time

ROUNDS = 10_000
FIRST, FEW = 5, 50  # rounds that warm the caches, and rounds that are timed
STANDS_S = 0.001  # how long a look is as good as a new one


def look_s() -> float:
    """Seconds of CPU time that the reference would take: to wait for the core is another matter."""
    sha256, data = hashlib.sha256, b"cagematch"
    for _ in range(FIRST):
        data = sha256(data).digest()
    started = time.thread_time()
    for _ in range(FEW):
        data = sha256(data).digest()
    return (time.thread_time() - started) * ROUNDS / FEW


class SpeedProbe:
    """Looks before and after runs; of two in a row, the one after the first stands for the one before the second."""

    def __init__(self) -> None:
        self._latest_s, self._at = 0.0, float("-inf")

    def before(self) -> float:
        """What is true now: the latest look, if it is of just now."""
        return self._latest_s if time.monotonic() - self._at < STANDS_S else self.after()

    def after(self) -> float:
        """A new look."""
        self._latest_s, self._at = look_s(), time.monotonic()
        return self._latest_s
