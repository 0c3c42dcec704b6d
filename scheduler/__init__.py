"""Deciding what to solve, and telling what happened."""

import cagematch.workers  # noqa: F401 - before anything else: it sees to it that ours is what an import finds
