"""How many solutions each puzzle has, of the task count. Configurations whose complete counts differ come first.

A count that is not complete is told with a plus sign: there are at least so many. *Over bound* is one that was ended by
its bound, *undecided* one that ran out of time. Of a disputed puzzle the largest count is told, and who counted what.

::

    small  3 puzzles counted
    place    solutions  found       by                         label
    small:3         12  disputed    12: cp-sat; 11: scip
    small:1          2  counted     cp-sat, scip
    small:2     1,000+  over bound  cp-sat, scip
"""

from __future__ import annotations

from collections import defaultdict
from typing import Any

from sqlalchemy import Connection, select

from cagematch.models import Run, StoredConfiguration
from cagematch.problems.outcome import Answer, Stop, Task
from cagematch.scheduler.reports.puzzles.evidence import of_tasks, placed, short
from cagematch.scheduler.reports.scope import Scope, over
from cagematch.scheduler.reports.table import Column, Table

DISPUTED, COUNTED, OVER, UNDECIDED = "disputed", "counted", "over bound", "undecided"
COLUMNS = [
    Column("place", "place", left=True),
    Column("told", "solutions"),
    Column("found", "found", left=True),
    Column("by", "by", short, left=True),
    Column("label", "label", short, left=True, optional=True),
    Column("solutions", "number", programs=True),
    Column("kind", "kind", left=True, programs=True),
    Column("puzzle", "puzzle", left=True, programs=True),
]
Counts = dict[tuple[int, str], list[str]]  # the configurations by number, and how they came to it


def tables(connection: Connection, covered: Scope) -> list[Table]:
    """A table a set, disputed puzzles first, then in the order of the set."""
    covered = of_tasks(connection, covered, Task.COUNT)
    found = {puzzle: _row(counts) for puzzle, counts in _counts(connection, covered).items()}
    numbers = over(select(Run.puzzle_id), covered)
    sets = placed(connection, covered, found, numbers) if found else {}
    return [_table(name, rows) for name, rows in sets.items()]


def _counts(connection: Connection, covered: Scope) -> dict[int, Counts]:
    """What each configuration counted; of what broke a constraint, nothing."""
    query = (
        over(select(Run.puzzle_id, StoredConfiguration.text, Run.answer, Run.count, Run.complete, Run.stop), covered)
        .join(StoredConfiguration, StoredConfiguration.id == Run.configuration_id)
        .where(Run.holds.is_not(False))
        .order_by(Run.puzzle_id, StoredConfiguration.id)
        .distinct()
    )
    found: defaultdict[int, Counts] = defaultdict(dict)
    for puzzle, configuration, answer, count, complete, stop in connection.execute(query):
        told = 0 if answer is Answer.NONE else count or 0
        how = COUNTED if complete or answer is Answer.NONE else OVER if stop is Stop.FINISHED else UNDECIDED
        names = found[puzzle].setdefault((told, how), [])
        if configuration not in names:
            names.append(configuration)
    return found


def _row(counts: Counts) -> dict[str, Any]:
    complete = {number for number, how in counts if how == COUNTED}
    most = max(number for number, _ in counts)
    disputed = len(complete) > 1 or (bool(complete) and most > max(complete))
    bounded = any(how == OVER for _, how in counts)
    found = DISPUTED if disputed else COUNTED if complete else OVER if bounded else UNDECIDED
    told = sorted(counts.items(), reverse=True)
    if found == COUNTED:
        told = [(of, names) for of, names in told if of[1] == COUNTED]
    by = "; ".join(f"{_told(*of)}: {', '.join(names)}" if len(told) > 1 else ", ".join(names) for of, names in told)
    return {"found": found, "solutions": most, "told": _told(most, COUNTED if most in complete else found), "by": by}


def _told(number: int, how: str) -> str:
    if how == COUNTED:
        return f"{number:,}"
    return f"{number:,}+" if number else "?"


def _table(name: str, rows: list[dict[str, Any]]) -> Table:
    rows.sort(key=lambda row: row["found"] != DISPUTED)
    about = f"{len(rows):,} puzzle{'s' * (len(rows) != 1)} counted"
    return Table(name, about, COLUMNS, rows, {at for at, row in enumerate(rows) if row["found"] == DISPUTED})
