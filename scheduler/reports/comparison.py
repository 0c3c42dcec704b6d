"""The comparison of configurations, a table a set.

A configuration that fails a puzzle of a set is *disqualified* there, as in the original comparison: its times
are no measure of the set. Times are wall seconds of build and solve of every run, those that failed
included. ``x best`` is the mean over the lowest mean of a configuration that is not disqualified. One that has
not run on every puzzle that another has run on is not compared, and comes after those that have: ``40 of 95``.

::

    hard  4 puzzles
    configuration  solved  wrong  timeout  total s  mean ms  median ms  p95 ms  max ms        x best
    cp-min-size       4/4      0        0    0.016     4.00       2.50   10.00   10.00          1.00
    cp-sat            4/4      0        0    0.024     6.00       5.50    9.00    9.00          1.50
    backtracking      2/4      0        2    7.512    1,878      2,250   3,000   3,000  disqualified
"""

from __future__ import annotations

from collections import Counter, defaultdict
from typing import Any

from sqlalchemy import Connection

from problems.outcome import DECIDED, Word
from scheduler.reports.runs import Judged, Scope, judged
from scheduler.reports.statistics import mean, median, percentile
from scheduler.reports.table import Column, Table

LOUD = (Word.WRONG, Word.ERROR)
FAILED = [w for w in Word if w not in DECIDED]
ALWAYS = (Word.WRONG, Word.TIMEOUT)  # worth a column even when there is none
MS = 1000
DIGITS = 6  # of a second; finer is noise


def _key(told: Word) -> str:
    return told.value.replace(" ", "_")


def _milliseconds(value: float) -> str:
    return f"{value:,.{2 if value < 100 else 1 if value < 1000 else 0}f}"


def _seconds(value: float) -> str:
    return f"{value:,.{3 if value < 100 else 1}f}"


COLUMNS = [
    Column("configuration", "configuration", left=True),
    Column("runs", "runs", programs=True),
    Column("solved", "solved", of="runs"),
    Column("no_solution", "no solution", optional=True),
    *(Column(_key(w), w.value, optional=w not in ALWAYS) for w in FAILED),
    Column("total_s", "total s", _seconds),
    Column("mean_ms", "mean ms", _milliseconds),
    Column("median_ms", "median ms", _milliseconds),
    Column("p95_ms", "p95 ms", _milliseconds),
    Column("max_ms", "max ms", _milliseconds),
    Column("ratio", "x best", lambda value: f"{value:.2f}", instead="note"),
    Column("note", "note", left=True, programs=True),
]


def tables(connection: Connection, covered: Scope) -> list[Table]:
    """A table for each set, in alphabetical order; best configuration first, wrong and errors first of all."""
    found: defaultdict[str, defaultdict[str, list[Judged]]] = defaultdict(lambda: defaultdict(list))
    for run in judged(connection, covered):
        found[run.set_name][run.configuration].append(run)
    return [_table(name, found[name]) for name in sorted(found)]


def failures(found: list[Table]) -> int:
    """Runs that were wrong or failed for a reason of ours, over all tables; one of two sets counts once."""
    return len({run for table in found for run in table.failed})


def _table(name: str, by_configuration: dict[str, list[Judged]]) -> Table:
    puzzles = {c: len({run.puzzle_id for run in runs}) for c, runs in by_configuration.items()}
    most = max(puzzles.values())
    rows = [_row(configuration, runs) for configuration, runs in by_configuration.items()]
    whole = {row["configuration"] for row in rows if puzzles[row["configuration"]] == most}
    fair = [row for row in rows if row["configuration"] in whole and not _failed(row)]
    best = min((row["mean_ms"] for row in fair), default=None)
    for row in rows:
        row["ratio"] = round(row["mean_ms"] / best, DIGITS) if best and row in fair else None
        row["note"] = "disqualified" if _failed(row) else None
        if row["configuration"] not in whole:
            row["note"] = f"{puzzles[row['configuration']]} of {most}"
    rows.sort(key=lambda row: (*(not row[_key(w)] for w in LOUD), row["configuration"] not in whole, *_rank(row)))
    about = f"{most} puzzle" + ("s" if most != 1 else "")
    failed = frozenset(run.run for runs in by_configuration.values() for run in runs if run.word in LOUD)
    return Table(name, about, COLUMNS, rows, {at for at, row in enumerate(rows) if _loud(row)}, failed)


def _row(configuration: str, runs: list[Judged]) -> dict[str, Any]:
    words = Counter(run.word for run in runs)
    walls = [run.wall_s for run in runs]
    milliseconds = [wall * MS for wall in walls]
    return {
        "configuration": configuration,
        "runs": len(runs),
        "solved": words[Word.SOLVED],
        "no_solution": words[Word.NO_SOLUTION],
        **{_key(w): words[w] for w in FAILED},
        "total_s": round(sum(walls), DIGITS),
        "mean_ms": round(mean(milliseconds), DIGITS),
        "median_ms": round(median(milliseconds), DIGITS),
        "p95_ms": round(percentile(milliseconds, 0.95), DIGITS),
        "max_ms": round(max(milliseconds), DIGITS),
    }


def _rank(row: dict[str, Any]) -> tuple[int, float]:
    return _failed(row), row["mean_ms"]


def _failed(row: dict[str, Any]) -> int:
    return sum(row[_key(w)] for w in FAILED)


def _loud(row: dict[str, Any]) -> bool:
    return any(row[_key(w)] for w in LOUD)
