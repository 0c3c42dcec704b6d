"""How fast one core is at a fixed computation, as a process of its own that leases the core and keeps to it.

It begins when its standard input ends, and tells ``{"reference_s": …, "core": …}``; both are null where it found no
core free, unless it is to measure all the same.
"""

from __future__ import annotations

import hashlib
import json
import os
import sys
import time

from workers.cores import Leases, locks_folder
from workers.topology import usable_cores

ROUNDS, TRIES = 10_000, 20  # some milliseconds a try: of that many one is hardly ever interrupted


def compute_s() -> float:
    """Seconds that SHA-256 over and over takes, the fastest of the tries."""
    times = []
    for _ in range(TRIES):
        started = time.perf_counter()
        data = b"cagematch"
        for _ in range(ROUNDS):
            data = hashlib.sha256(data).digest()
        times.append(time.perf_counter() - started)
    return min(times)


def main() -> None:
    """Arguments: how many seconds to wait for a core, and whether ("1") to do without one then."""
    wait_s, insist = float(sys.argv[1]), sys.argv[2] == "1"
    sys.stdin.read()
    core = Leases(locks_folder(), usable_cores()).take_one(wait_s)
    if core is not None:
        os.sched_setaffinity(0, {core})
    measured = compute_s() if core is not None or insist else None
    print(json.dumps({"reference_s": measured, "core": core}))  # noqa: T201 - to the worker


if __name__ == "__main__":
    main()
