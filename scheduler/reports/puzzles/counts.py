"""The number of solutions of each puzzle, for the task count.

An incomplete count has a plus sign, as there are at least that number of solutions. It is *over bound* if it reached
the bound, and *undecided* if it ran out of time. If complete counts differ, the puzzle is *disputed*: it comes first,
with the largest count and the configurations by count.

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
    Column("at_least", "solutions"),
    Column("found", "found", left=True),
    Column("by", "by", short, left=True),
    Column("label", "label", short, left=True, optional=True),
    Column("solutions", "number", programs=True),
    Column("kind", "kind", left=True, programs=True),
    Column("puzzle", "puzzle", left=True, programs=True),
]
ConfigurationsByCount = dict[tuple[int, str], list[str]]  # by count and whether it is complete


def tables(connection: Connection, covered: Scope) -> list[Table]:
    """Return a table per set: disputed puzzles first, the rest in the order of the set."""
    covered = of_tasks(connection, covered, Task.COUNT)
    found = {puzzle: _row(counts) for puzzle, counts in _counts(connection, covered).items()}
    numbers = over(select(Run.puzzle_id), covered)
    sets = placed(connection, covered, found, numbers) if found else {}
    return [_table(name, rows) for name, rows in sets.items()]


def _counts(connection: Connection, covered: Scope) -> dict[int, ConfigurationsByCount]:
    """Return the counts by puzzle, without runs that violate a constraint."""
    query = (
        over(select(Run.puzzle_id, StoredConfiguration.text, Run.answer, Run.count, Run.complete, Run.stop), covered)
        .join(StoredConfiguration, StoredConfiguration.id == Run.configuration_id)
        .where(Run.holds.is_not(False))
        .order_by(Run.puzzle_id, StoredConfiguration.id)
        .distinct()
    )
    found: defaultdict[int, ConfigurationsByCount] = defaultdict(dict)
    for puzzle, configuration, answer, count, complete, stop in connection.execute(query):
        number = 0 if answer is Answer.NONE else count or 0
        how = COUNTED if complete or answer is Answer.NONE else OVER if stop is Stop.FINISHED else UNDECIDED
        names = found[puzzle].setdefault((number, how), [])
        if configuration not in names:
            names.append(configuration)
    return found


def _row(counts: ConfigurationsByCount) -> dict[str, Any]:
    complete = {number for number, how in counts if how == COUNTED}
    most = max(number for number, _ in counts)
    disputed = len(complete) > 1 or (bool(complete) and most > max(complete))
    bounded = any(how == OVER for _, how in counts)
    found = DISPUTED if disputed else COUNTED if complete else OVER if bounded else UNDECIDED
    listed = sorted(counts.items(), reverse=True)
    if found == COUNTED:
        listed = [(of, names) for of, names in listed if of[1] == COUNTED]
    several = len(listed) > 1
    by = "; ".join(f"{_text(*of)}: {', '.join(names)}" if several else ", ".join(names) for of, names in listed)
    at_least = _text(most, COUNTED if most in complete else found)
    return {"found": found, "solutions": most, "at_least": at_least, "by": by}


def _text(number: int, how: str) -> str:
    if how == COUNTED:
        return f"{number:,}"
    return f"{number:,}+" if number else "?"


def _table(name: str, rows: list[dict[str, Any]]) -> Table:
    rows.sort(key=lambda row: row["found"] != DISPUTED)
    about = f"{len(rows):,} puzzle{'s' * (len(rows) != 1)} counted"
    return Table(name, about, COLUMNS, rows, {at for at, row in enumerate(rows) if row["found"] == DISPUTED})
