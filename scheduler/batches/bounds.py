"""Bounds of the options of a batch, for the command line and for experiment files."""

from __future__ import annotations

LARGEST_SEED = 2**31 - 10_000  # leaves room for one seed per repeat in the 32 bits that solvers accept
MOST_SOLUTIONS = 1_000_000_000  # of a count
DEFAULT_BOUND = 100_000
PRIORITIES = (-100, 100)  # lowest and highest
