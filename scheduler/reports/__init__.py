"""The reports on runs: one module and one line in REPORTS each."""

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
# The reports on puzzles with their tasks. `scheduler report` shows one by default for its first task only.
TASKS = {"improper": improper.TASKS, "counts": (Task.COUNT,), "repairs": (Task.REPAIR,)}
