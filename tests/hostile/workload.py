"""Use a known CPU time and memory in each of several processes: ``workload.py SECONDS MIB PROCESSES``."""

from __future__ import annotations

import os
import sys
import time


def work(seconds: float, mib: int) -> None:
    kept = bytearray(b"x") * (mib << 20)
    until = time.process_time() + seconds
    while time.process_time() < until:
        sum(range(10_000))
    del kept


def main() -> None:
    seconds, mib, processes = float(sys.argv[1]), int(sys.argv[2]), int(sys.argv[3])
    children = []
    for _ in range(processes - 1):
        pid = os.fork()
        if pid == 0:
            work(seconds, mib)
            os._exit(0)
        children.append(pid)
    work(seconds, mib)
    for pid in children:
        os.waitpid(pid, 0)


if __name__ == "__main__":
    main()
