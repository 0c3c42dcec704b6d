"""The comparison of configurations: one table per set and task.

A configuration that fails a puzzle of a set is *disqualified* there: its times do not measure the whole set. Times are
wall times of building and solving. They include failed runs, but not runs that a backend does not support.

``x best`` is the mean time over the lowest mean time of a ranked configuration. Each puzzle counts once, with the mean
of its runs. Only configurations that ran on the same puzzles are ranked. The note of any other configuration shows how
many puzzles it ran on, such as ``40 of 95``.

If disturbed runs are excluded, a configuration that keeps at least half of the puzzles is ranked on the shared ones:
``95 puzzles, ranked on 88 shared puzzles``. If less than half would be shared, the configurations with the fewest
puzzles are not ranked.

::

    hard  4 puzzles
    configuration  solved  wrong  timeout  total s  mean ms  median ms  p95 ms  max ms        x best
    cp-min-size       4/4      0        0    0.016     4.00       2.50   10.00   10.00          1.00
    cp-sat            4/4      0        0    0.024     6.00       5.50    9.00    9.00          1.50
    backtracking      2/4      0        2    7.512    1,878      2,250   3,000   3,000  disqualified

The columns depend on the task. ``solutions`` is the sum of all counts, and ``changes`` the sum of the changes of all
repairs proved minimal.

::

    hard  4 puzzles, task unique
    configuration  unique  several  no solution  wrong  timeout  total s  mean ms  median ms  p95 ms  max ms  x best
    cp-sat            3/4        1            0      0        0    0.024     6.00       5.50    9.00    9.00    1.00
"""

from __future__ import annotations

import math
from collections import Counter, defaultdict
from collections.abc import Iterable
from typing import Any

from sqlalchemy import Connection

from cagematch.problems.outcome import DECIDED, Status, Task
from cagematch.scheduler.reports.columns import FAILED, columns_of, key
from cagematch.scheduler.reports.runs import JudgedRun, judged_runs, puzzles_run, sizes
from cagematch.scheduler.reports.scope import Scope
from cagematch.scheduler.reports.sizes import ModelSize, as_text
from cagematch.scheduler.reports.statistics import mean, median, percentile
from cagematch.scheduler.reports.table import Table

LOUD = (Status.WRONG, Status.ERROR)
MS = 1000
DIGITS = 6  # decimals of a time in seconds; finer is noise


Group = dict[str, list[JudgedRun]]  # the runs of each configuration


def tables(connection: Connection, covered: Scope) -> list[Table]:
    """Return a table per set and task, in alphabetical order.

    Rows with wrong runs and errors come first, followed by the other configurations from best to worst.
    """
    found: defaultdict[tuple[str, Task], Group] = defaultdict(lambda: defaultdict(list))
    for run in judged_runs(connection, covered):
        found[run.set_name, run.task][run.configuration].append(run)
    models = sizes(connection, covered)
    complete = puzzles_run(connection, covered) if covered.excludes_runs else {}
    return [_table(*of, found[of], models, complete) for of in sorted(found)]


def failures(found: list[Table]) -> int:
    """Return the number of runs that are wrong or ended with an error. A run in several tables counts once."""
    return len({run for table in found for run in table.failed})


def _table(name: str, task: Task, group: Group, models: dict[int, ModelSize], complete: dict[str, set[int]]) -> Table:
    """``complete``: the puzzles that each configuration ran on, including excluded runs."""
    puzzles = {c: {run.puzzle_id for run in runs} for c, runs in group.items()}
    every = set[int]().union(*puzzles.values())
    rows = [_row(configuration, runs) | _size(runs, models) for configuration, runs in group.items()]
    enough = {
        c for c, left in puzzles.items() if left == every or (complete.get(c, set()) >= every and _half(left, every))
    }
    ranked = {row["configuration"] for row in rows if row["configuration"] in enough and not _failed(row)}
    while not _half(shared := every.intersection(*(puzzles[c] for c in ranked)), every):
        fewest = min(len(puzzles[c]) for c in ranked)
        few = {c for c in ranked if len(puzzles[c]) == fewest}
        enough, ranked = enough - few, ranked - few
    means = {c: _mean_s(group[c], shared) for c in ranked}
    best = min(means.values(), default=None)
    for row in rows:
        configuration = row["configuration"]
        row["ratio"] = round(means[configuration] / best, DIGITS) if best and configuration in ranked else None
        row["note"] = _note(row)
        if configuration not in enough:
            row["note"] = f"{len(puzzles[configuration])} of {len(every)}"
    rows.sort(key=lambda row: (*(not row[key(w)] for w in LOUD), row["configuration"] not in enough, *_rank(row)))
    about = _puzzles(len(every)) + (f", task {task}" if task is not Task.SOLVE else "")
    if shared != every and ranked:
        about += f", ranked on {_puzzles(len(shared)).replace(' ', ' shared ')}"
    failed = frozenset(run.run for runs in group.values() for run in runs if run.status in LOUD)
    return Table(name, about, columns_of(task), rows, {at for at, row in enumerate(rows) if _loud(row)}, failed)


def _puzzles(number: int) -> str:
    return f"{number} puzzle{'s' * (number != 1)}"


def _half(some: set[int], every: set[int]) -> bool:
    return 2 * len(some) >= len(every)


def _mean_s(runs: list[JudgedRun], puzzles: set[int]) -> float:
    """Return the mean time over puzzles. Each puzzle has the same weight, whatever its number of runs."""
    walls: defaultdict[int, list[float]] = defaultdict(list)
    for run in runs:
        if run.puzzle_id in puzzles:
            walls[run.puzzle_id].append(run.wall_s)
    return mean([mean(of_one) for of_one in walls.values()])


def _row(configuration: str, runs: list[JudgedRun]) -> dict[str, Any]:
    found = Counter(run.status for run in runs)
    return {
        "configuration": configuration,
        "task": runs[0].task.value,
        "runs": len(runs),
        **{key(w): found[w] for w in Status},
        "solutions": _total(run.count for run in runs if run.task is Task.COUNT and run.status in DECIDED),
        "changes": _total(run.changes for run in runs if run.status is Status.REPAIRED),
        **_times([run.wall_s for run in runs if run.status is not Status.UNSUPPORTED]),
    }


def _total(values: Iterable[int | None]) -> int | None:
    """Return the sum of the known values; None if no value is known."""
    found = [value for value in values if value is not None]
    return sum(found) if found else None


def _times(walls: list[float]) -> dict[str, float | None]:
    if not walls:
        return dict.fromkeys(("total_s", "mean_ms", "median_ms", "p95_ms", "max_ms"))
    milliseconds = [wall * MS for wall in walls]
    return {
        "total_s": round(sum(walls), DIGITS),
        "mean_ms": round(mean(milliseconds), DIGITS),
        "median_ms": round(median(milliseconds), DIGITS),
        "p95_ms": round(percentile(milliseconds, 0.95), DIGITS),
        "max_ms": round(max(milliseconds), DIGITS),
    }


def _size(runs: list[JudgedRun], models: dict[int, ModelSize]) -> dict[str, Any]:
    """Return the numbers of the largest model, and all models as one text."""
    found = [models[number] for number in {run.size_id: None for run in runs if run.size_id is not None}]
    return {
        "variables": max((sum(one.variables.values()) for one in found), default=None),
        "constraints": max((sum(one.constraints.values()) for one in found), default=None),
        "size": as_text(found) if found else None,
    }


def _note(row: dict[str, Any]) -> str | None:
    if not _failed(row):
        return None
    return Status.UNSUPPORTED.value if row["unsupported"] == row["runs"] else "disqualified"


def _rank(row: dict[str, Any]) -> tuple[float, ...]:
    times = (row["ratio"], row["mean_ms"])
    return (_failed(row), *(math.inf if time is None else time for time in times))


def _failed(row: dict[str, Any]) -> int:
    return sum(row[key(w)] for w in FAILED)


def _loud(row: dict[str, Any]) -> bool:
    return any(row[key(w)] for w in LOUD)
