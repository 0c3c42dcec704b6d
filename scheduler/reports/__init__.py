"""The reports: what is computed from runs, one file each, one line each in REPORTS."""

from __future__ import annotations

from collections.abc import Callable

from scheduler.reports import comparison
from scheduler.reports.table import Table

REPORTS: dict[str, Callable[..., list[Table]]] = {
    "comparison": comparison.tables,
}
