"""Cagematch: run constraint solvers on batches of puzzles and compare them."""

__version__ = "0.1.0"
