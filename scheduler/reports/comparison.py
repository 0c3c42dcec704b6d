"""The comparison of configurations, a table a set.

A configuration that fails a puzzle of a set is *disqualified* there, as in the original comparison: its times
are no measure of the set. Times are wall seconds of build and solve of every run, those that failed
included. ``x best`` is the total over the lowest total of a configuration that is not disqualified.

::

    hard  95 puzzles
    configuration   solved  total s  mean ms  median ms  p95 ms  max ms  x best
    cp-min-size      95/95    0.301     3.17       2.15    9.05   26.93    1.00
    cp-sat           95/95    0.481     5.06       4.90    7.32   10.40    1.60
"""

from __future__ import annotations

from collections import Counter, defaultdict
from typing import Any

from sqlalchemy import Connection

from problems.outcome import Word
from scheduler.reports.runs import Judged, Scope, judged
from scheduler.reports.statistics import median, percentile
from scheduler.reports.table import Column, Table

DECIDED = (Word.SOLVED, Word.NO_SOLUTION)
LOUD = (Word.WRONG, Word.ERROR)
FAILED = [w for w in Word if w not in DECIDED]
MS = 1000


def _milliseconds(value: float) -> str:
    return f"{value:,.2f}"


def _seconds(value: float) -> str:
    return f"{value:,.3f}"


ALWAYS = {Word.WRONG, Word.TIMEOUT}  # worth a column even when there is none
COLUMNS = [
    Column("configuration", "configuration", left=True),
    Column("solved", "solved"),
    Column("no_solution", "no solution"),
    *(Column(w.value.replace(" ", "_"), w.value) for w in FAILED),
    Column("total_s", "total s", _seconds),
    Column("mean_ms", "mean ms", _milliseconds),
    Column("median_ms", "median ms", _milliseconds),
    Column("p95_ms", "p95 ms", _milliseconds),
    Column("max_ms", "max ms", _milliseconds),
    Column("ratio", "x best", lambda value: f"{value:.2f}"),
    Column("note", "", left=True),
]


def tables(connection: Connection, covered: Scope) -> list[Table]:
    """A table for each set, in alphabetical order; best configuration first, wrong and errors first of all."""
    found: defaultdict[str, defaultdict[str, list[Judged]]] = defaultdict(lambda: defaultdict(list))
    for run in judged(connection, covered):
        found[run.set_name][run.configuration].append(run)
    return [_table(name, found[name]) for name in sorted(found)]


def _table(name: str, by_configuration: dict[str, list[Judged]]) -> Table:
    rows = [_row(configuration, runs) for configuration, runs in by_configuration.items()]
    qualified = [row["total_s"] for row in rows if not row["failed"]]
    best = min(qualified, default=0.0)
    for row in rows:
        row["ratio"] = row["total_s"] / best if best and not row["failed"] else None
        row["note"] = "disqualified" if row["failed"] else ""
    rows.sort(key=_rank)
    keep = [c for c in COLUMNS if _worth_showing(c.key, rows)]
    loud = {at for at, row in enumerate(rows) if any(row[_key(w)] for w in LOUD)}
    return Table(name, keep, rows, loud)


def _row(configuration: str, runs: list[Judged]) -> dict[str, Any]:
    words = Counter(run.word for run in runs)
    walls = [run.wall_s for run in runs]
    return {
        "configuration": configuration,
        "solved": f"{words[Word.SOLVED]}/{len(runs)}",
        "no_solution": words[Word.NO_SOLUTION],
        **{_key(w): words[w] for w in FAILED},
        "total_s": sum(walls),
        "mean_ms": sum(walls) / len(walls) * MS,
        "median_ms": median(walls) * MS,
        "p95_ms": percentile(walls, 0.95) * MS,
        "max_ms": max(walls) * MS,
        "failed": sum(words[w] for w in FAILED),
    }


def _rank(row: dict[str, Any]) -> tuple[Any, ...]:
    loud = any(row[_key(w)] for w in LOUD)
    return (not loud, row["failed"], row["total_s"])


def _worth_showing(key: str, rows: list[dict[str, Any]]) -> bool:
    always = {_key(w) for w in ALWAYS}
    optional = {_key(w) for w in FAILED} | {"no_solution", "note"}
    return key not in optional - always or any(row[key] for row in rows)


def _key(told: Word) -> str:
    return told.value.replace(" ", "_")


def failures(found: list[Table]) -> int:
    """Runs that were wrong or failed for a reason of ours, over all tables."""
    return sum(int(row[_key(w)] or 0) for table in found for row in table.rows for w in LOUD)
