"""Solve a puzzle repeatedly for some seconds: ``solve.py CONFIGURATION TEXT SECONDS``."""

from __future__ import annotations

import sys
import time

from cagematch.workers.configurations import configuration
from cagematch.workers.sandbox.solving import measure, problem_of

if __name__ == "__main__":
    name, text, seconds = sys.argv[1:]
    over = time.monotonic() + float(seconds)
    while time.monotonic() < over:
        measure(configuration(name), problem_of("sudoku", text), 1, 60.0)
