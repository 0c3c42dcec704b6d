"""The reports: what is computed from runs, one file each, one line each in REPORTS."""

from __future__ import annotations

from collections.abc import Callable

from cagematch.problems.outcome import Task
from cagematch.scheduler.reports import comparison
from cagematch.scheduler.reports.puzzles import counts, improper, repairs
from cagematch.scheduler.reports.table import Table

REPORTS: dict[str, Callable[..., list[Table]]] = {
    "comparison": comparison.tables,
    "improper": improper.tables,
    "counts": counts.tables,
    "repairs": repairs.tables,
}
# What tells of puzzles, and of which tasks; of the first without being asked.
TASKS = {"improper": improper.TASKS, "counts": (Task.COUNT,), "repairs": (Task.REPAIR,)}
