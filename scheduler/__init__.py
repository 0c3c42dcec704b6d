"""Deciding what to solve, and reporting the results."""

import cagematch.workers  # noqa: F401
