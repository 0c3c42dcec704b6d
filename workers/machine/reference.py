"""The reference on a core that is leased for it, as a process of its own that keeps to the core.

It begins when its standard input ends, and tells ``{"reference_s": …, "core": …}``; where it finds no core free, it
measures wherever it runs, and tells no core.
"""

from __future__ import annotations

import json
import os
import sys
import time

from cagematch.workers.machine.cores import Leases, locks_folder
from cagematch.workers.machine.speed import look_s
from cagematch.workers.machine.topology import usable_cores

LOOKS, PAUSE_S = 80, 0.002  # a fifth of a second, so that one spell of somebody else's on the core is not all of it


def main() -> None:
    """Argument: how many seconds to wait for a core."""
    sys.stdin.read()
    core = Leases(locks_folder(), usable_cores()).take_one(float(sys.argv[1]))
    if core is not None:
        os.sched_setaffinity(0, {core})
    looks = []
    for _ in range(LOOKS):
        time.sleep(PAUSE_S)
        looks.append(look_s())
    measured = sorted(looks)[LOOKS // 4]
    print(json.dumps({"reference_s": measured, "core": core}))  # noqa: T201 - to the worker


if __name__ == "__main__":
    main()
