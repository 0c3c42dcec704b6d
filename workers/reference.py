"""The reference on a core that is leased for it, as a process of its own that keeps to the core.

It begins when its standard input ends, and tells ``{"reference_s": …, "core": …}``; where it finds no core free, it
does without, and tells null.
"""

from __future__ import annotations

import json
import os
import sys
from statistics import median

from workers.cores import Leases, locks_folder
from workers.speed import look_s
from workers.topology import usable_cores

LOOKS = 2001  # some 50 ms


def main() -> None:
    """Argument: how many seconds to wait for a core."""
    sys.stdin.read()
    core = Leases(locks_folder(), usable_cores()).take_one(float(sys.argv[1]))
    if core is not None:
        os.sched_setaffinity(0, {core})
    measured = median(look_s() for _ in range(LOOKS))
    print(json.dumps({"reference_s": measured, "core": core}))  # noqa: T201 - to the worker


if __name__ == "__main__":
    main()
