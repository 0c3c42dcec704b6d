"""How far the options of a batch go, on the command line and in an experiment's file."""

from __future__ import annotations

LARGEST_SEED = 2**31 - 10_000  # leaves room for a seed a repeat in the 32 bits that solvers take
MOST_SOLUTIONS = 1_000_000_000  # of a count
DEFAULT_BOUND = 100_000
PRIORITIES = (-100, 100)  # least and most
