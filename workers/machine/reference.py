"""The speed of a leased core, measured in a process that is pinned to it.

``python -m cagematch.workers.machine.reference WAIT_S`` starts when its standard input closes. It prints
``{"reference_s": …, "core": …}``. ``core`` is null where no core became free within WAIT_S seconds; the process then
measures on any core.
"""

from __future__ import annotations

import json
import os
import sys
import time

from cagematch.workers.machine.cores import Leases, locks_folder
from cagematch.workers.machine.speed import probe_s
from cagematch.workers.machine.topology import usable_cores

# Probes, and the seconds between two: a fifth of a second in all, longer than a short burst of another tenant.
PROBES, PAUSE_S = 80, 0.002


def main() -> None:
    """Print the lower quartile of the probes."""
    sys.stdin.read()
    core = Leases(locks_folder(), usable_cores()).take_one(float(sys.argv[1]))
    if core is not None:
        os.sched_setaffinity(0, {core})
    probes = []
    for _ in range(PROBES):
        time.sleep(PAUSE_S)
        probes.append(probe_s())
    reference_s = sorted(probes)[PROBES // 4]
    print(json.dumps({"reference_s": reference_s, "core": core}))  # noqa: T201 - to the worker


if __name__ == "__main__":
    main()
