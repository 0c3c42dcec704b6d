"""A correction for CBC, which reports a program as infeasible when it is stopped during preprocessing."""

from __future__ import annotations

import time
from collections.abc import Callable, Mapping
from typing import Any

from cagematch.workers.backends.contract import REFUTED, Found, Meaning

TOLERANCE_S = 0.005  # limits are rounded to milliseconds


def in_time(search: Callable[[Any, float], Found], statuses: Mapping[Any, Meaning], late: object) -> Any:
    """Wrap a search: a refutation at or after the limit gets the status ``late``, as it is not a proof.

    The measured time is at least CBC's own, so no refutation after the limit is missed.

    Parameters
    ----------
    search
        The backend's search.
    statuses
        The backend's ``STATUS``.
    late
        The status of a search that reached its limit.
    """

    def searched(model: Any, limit_s: float) -> Found:
        started = time.monotonic()
        found = search(model, limit_s)
        over = time.monotonic() - started > limit_s - TOLERANCE_S
        return Found(late, None, found.counters) if over and statuses.get(found.native) is REFUTED else found

    return searched
