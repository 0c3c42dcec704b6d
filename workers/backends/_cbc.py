"""CBC, whichever way it is reached: stopped while it still prepares a program, it calls that infeasible."""

from __future__ import annotations

import time
from collections.abc import Callable, Mapping
from typing import Any

from cagematch.workers.backends.contract import REFUTED, Found, Meaning

DOUBT_S = 0.005  # limits are rounded to milliseconds


def in_time(search: Callable[[Any, float], Found], statuses: Mapping[Any, Meaning], late: object) -> Any:
    """The search, of which a refutation is none that comes at the limit or after it: ``late`` is the status then.

    CBC measures its own time, which is no more than ours.
    """

    def searched(model: Any, limit_s: float) -> Found:
        started = time.monotonic()
        found = search(model, limit_s)
        over = time.monotonic() - started > limit_s - DOUBT_S
        return Found(late, None, found.counters) if over and statuses.get(found.native) is REFUTED else found

    return searched
