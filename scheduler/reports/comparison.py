"""The comparison of configurations, a table a set and task.

A configuration that fails a puzzle of a set is *disqualified* there, as in the original comparison: its times
are no measure of the set. Times are wall seconds of build and solve of every run, those that failed included, but for
what a backend does not support: there was no run. ``x best`` is the mean over the lowest mean of a configuration that
is not disqualified, each puzzle's runs by their mean. One that has not run on every puzzle that another has run on is
not compared, and comes after those that have: ``40 of 95``. Where runs of it are left out, it is if some are left of
half the puzzles; ``x best`` is by those that all who are compared have, ``95 puzzles, x best by 88 of them``. Where
these would be less than half, whoever has the fewest is not compared.

::

    hard  4 puzzles
    configuration  solved  wrong  timeout  total s  mean ms  median ms  p95 ms  max ms        x best
    cp-min-size       4/4      0        0    0.016     4.00       2.50   10.00   10.00          1.00
    cp-sat            4/4      0        0    0.024     6.00       5.50    9.00    9.00          1.50
    backtracking      2/4      0        2    7.512    1,878      2,250   3,000   3,000  disqualified

What a solver decides depends on the task; ``solutions`` are all those counted, the bound where there are more, and
``changes`` those of all repairs that were proved to be the least.

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

from cagematch.problems.outcome import DECIDED, Task, Word
from cagematch.scheduler.reports.columns import FAILED, columns_of, key
from cagematch.scheduler.reports.runs import Judged, judged, ran, sizes
from cagematch.scheduler.reports.scope import Scope
from cagematch.scheduler.reports.sizes import Made, words
from cagematch.scheduler.reports.statistics import mean, median, percentile
from cagematch.scheduler.reports.table import Table

LOUD = (Word.WRONG, Word.ERROR)
MS = 1000
DIGITS = 6  # of a second; finer is noise


Group = dict[str, list[Judged]]  # the runs of each configuration


def tables(connection: Connection, covered: Scope) -> list[Table]:
    """A table for each set, in alphabetical order; best configuration first, wrong and errors first of all."""
    found: defaultdict[tuple[str, Task], Group] = defaultdict(lambda: defaultdict(list))
    for run in judged(connection, covered):
        found[run.set_name, run.task][run.configuration].append(run)
    models, whole = sizes(connection, covered), ran(connection, covered) if covered.chosen else {}
    return [_table(*of, found[of], models, whole) for of in sorted(found)]


def failures(found: list[Table]) -> int:
    """Runs that were wrong or failed for a reason of ours, over all tables; one of two sets counts once."""
    return len({run for table in found for run in table.failed})


def _table(name: str, task: Task, group: Group, models: dict[int, Made], whole: dict[str, set[int]]) -> Table:
    """``whole``: what each configuration ran, where runs of it may have been left out."""
    puzzles = {c: {run.puzzle_id for run in runs} for c, runs in group.items()}
    every = set[int]().union(*puzzles.values())
    rows = [_row(configuration, runs) | _size(runs, models) for configuration, runs in group.items()]
    enough = {
        c for c, left in puzzles.items() if left == every or (whole.get(c, set()) >= every and _half(left, every))
    }
    fair = {row["configuration"] for row in rows if row["configuration"] in enough and not _failed(row)}
    while not _half(common := every.intersection(*(puzzles[c] for c in fair)), every):
        fewest = min(len(puzzles[c]) for c in fair)
        few = {c for c in fair if len(puzzles[c]) == fewest}
        enough, fair = enough - few, fair - few
    means = {c: _mean_s(group[c], common) for c in fair}
    best = min(means.values(), default=None)
    for row in rows:
        configuration = row["configuration"]
        row["ratio"] = round(means[configuration] / best, DIGITS) if best and configuration in fair else None
        row["note"] = _note(row)
        if configuration not in enough:
            row["note"] = f"{len(puzzles[configuration])} of {len(every)}"
    rows.sort(key=lambda row: (*(not row[key(w)] for w in LOUD), row["configuration"] not in enough, *_rank(row)))
    about = f"{len(every)} puzzle{'s' * (len(every) != 1)}" + (f", task {task}" if task is not Task.SOLVE else "")
    if common != every and fair:
        about += f", x best by {len(common)} of them"
    failed = frozenset(run.run for runs in group.values() for run in runs if run.word in LOUD)
    return Table(name, about, columns_of(task), rows, {at for at, row in enumerate(rows) if _loud(row)}, failed)


def _half(some: set[int], every: set[int]) -> bool:
    return 2 * len(some) >= len(every)


def _mean_s(runs: list[Judged], puzzles: set[int]) -> float:
    """Over these puzzles, each of which counts once, however many runs of it there are."""
    walls: defaultdict[int, list[float]] = defaultdict(list)
    for run in runs:
        if run.puzzle_id in puzzles:
            walls[run.puzzle_id].append(run.wall_s)
    return mean([mean(of_one) for of_one in walls.values()])


def _row(configuration: str, runs: list[Judged]) -> dict[str, Any]:
    found = Counter(run.word for run in runs)
    return {
        "configuration": configuration,
        "task": runs[0].task.value,
        "runs": len(runs),
        **{key(w): found[w] for w in Word},
        "solutions": _total(run.count for run in runs if run.task is Task.COUNT and run.word in DECIDED),
        "changes": _total(run.changes for run in runs if run.word is Word.REPAIRED),
        **_times([run.wall_s for run in runs if run.word is not Word.UNSUPPORTED]),
    }


def _total(values: Iterable[int | None]) -> int | None:
    """The sum of those that there are; None where there is none."""
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


def _size(runs: list[Judged], models: dict[int, Made]) -> dict[str, Any]:
    """In words for all puzzles together, in numbers that of the largest."""
    found = [models[number] for number in {run.size_id: None for run in runs if run.size_id is not None}]
    return {
        "variables": max((sum(one.variables.values()) for one in found), default=None),
        "constraints": max((sum(one.constraints.values()) for one in found), default=None),
        "size": words(found) if found else None,
    }


def _note(row: dict[str, Any]) -> str | None:
    if not _failed(row):
        return None
    return Word.UNSUPPORTED.value if row["unsupported"] == row["runs"] else "disqualified"


def _rank(row: dict[str, Any]) -> tuple[float, ...]:
    times = (row["ratio"], row["mean_ms"])
    return (_failed(row), *(math.inf if time is None else time for time in times))


def _failed(row: dict[str, Any]) -> int:
    return sum(row[key(w)] for w in FAILED)


def _loud(row: dict[str, Any]) -> bool:
    return any(row[key(w)] for w in LOUD)
