"""The callback with which long database jobs report their progress."""

from __future__ import annotations

from collections.abc import Callable

ProgressCallback = Callable[[int, int], None]  # (items done, items in total)
