"""The columns of the comparison: the same keys for every task; tables show only those relevant to the task."""

from __future__ import annotations

from dataclasses import replace

from cagematch.problems.outcome import DECIDED, Status, Task
from cagematch.scheduler.reports.table import Column

FAILED = [w for w in Status if w not in DECIDED]
ALWAYS = (Status.WRONG, Status.TIMEOUT)  # shown even if no run has them
# The statuses that are always shown for a task; the first one is the goal, shown as a share of the runs.
EXPECTED = {
    Task.SOLVE: (Status.SOLVED,),
    Task.UNIQUE: (Status.UNIQUE, Status.SEVERAL, Status.NO_SOLUTION),
    Task.COUNT: (Status.COUNTED,),
    Task.REPAIR: (Status.REPAIRED,),
}
ENDS = (
    Status.SOLVED,
    Status.UNIQUE,
    Status.SEVERAL,
    Status.COUNTED,
    Status.OVER_BOUND,
    Status.REPAIRED,
    Status.NO_SOLUTION,
)


def key(status: Status) -> str:
    """Return the key of a status's column."""
    return status.value.replace(" ", "_")


def _milliseconds(value: float) -> str:
    return f"{value:,.{2 if value < 100 else 1 if value < 1000 else 0}f}"


def _seconds(value: float) -> str:
    return f"{value:,.{3 if value < 100 else 1}f}"


COLUMNS = [
    Column("configuration", "configuration", left=True),
    Column("runs", "runs", programs=True),
    *(Column(key(w), w.value, optional=True) for w in ENDS),
    Column("solutions", "solutions", "{:,}".format, optional=True),
    Column("changes", "changes", "{:,}".format, optional=True),
    *(Column(key(w), w.value, optional=w not in ALWAYS) for w in FAILED),
    Column("total_s", "total s", _seconds, spare=True),
    Column("mean_ms", "mean ms", _milliseconds),
    Column("median_ms", "median ms", _milliseconds),
    Column("p95_ms", "p95 ms", _milliseconds, spare=True),
    Column("max_ms", "max ms", _milliseconds, spare=True),
    Column("ratio", "x best", lambda value: f"{value:.2f}", instead="note"),
    Column("note", "note", left=True, programs=True),
    Column("task", "task", left=True, programs=True),
    Column("variables", "variables", "{:,}".format, programs=True),
    Column("constraints", "constraints", "{:,}".format, programs=True),
    Column("size", "size", left=True, programs=True),
]


def columns_of(task: Task) -> list[Column]:
    """Return all columns; those of the statuses that a task aims at are always shown."""
    first, *others = (key(w) for w in EXPECTED[task])
    columns = [replace(c, optional=False) if c.key in others else c for c in COLUMNS]
    return [replace(c, of="runs", optional=False) if c.key == first else c for c in columns]
