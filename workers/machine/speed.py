"""The core speed probe: how fast a core runs a fixed computation, the reference.

The reference is 10,000 rounds of SHA-256. A probe times 50 rounds, which takes 20 µs, and scales up. That is enough to
detect another virtual machine on the same physical core: the probe then takes twice as long, and no counter of this
kernel shows it.
"""

from __future__ import annotations

import hashlib
import time

REFERENCE_ROUNDS = 10_000  # Rounds of SHA-256 in the reference.
WARM_UP_ROUNDS = 5  # Untimed rounds that fill the caches.
TIMED_ROUNDS = 50
FRESH_S = 0.001  # Seconds for which a probe's result replaces a new probe.


def probe_s() -> float:
    """Return the CPU seconds that the reference would take on this core; waiting for the core does not count."""
    sha256, data = hashlib.sha256, b"cagematch"
    for _ in range(WARM_UP_ROUNDS):
        data = sha256(data).digest()
    started = time.thread_time()
    for _ in range(TIMED_ROUNDS):
        data = sha256(data).digest()
    return (time.thread_time() - started) * REFERENCE_ROUNDS / TIMED_ROUNDS


class SpeedProbe:
    """Probes before and after each run; two runs in a row share the probe between them."""

    def __init__(self) -> None:
        self._latest_s, self._at = 0.0, float("-inf")

    def before(self) -> float:
        """Return the reference's seconds before a run: the latest result if it is fresh, else a new one."""
        return self._latest_s if time.monotonic() - self._at < FRESH_S else self.after()

    def after(self) -> float:
        """Probe, and return the reference's seconds."""
        self._latest_s, self._at = probe_s(), time.monotonic()
        return self._latest_s
