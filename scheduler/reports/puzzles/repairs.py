"""The repair of each puzzle with the fewest changes, for the task repair.

::

    broken  2 puzzles to repair
    place     changes  found      cells                   by
    broken:1        1  repaired   r1c3: 4 → 3             cp-sat, cp-min-size
    broken:2        2  undecided  r1c3: 4 → 3, r2c1: …    cp-min-size
"""

from __future__ import annotations

from typing import Any

from sqlalchemy import Connection, Select, func, select

from cagematch.models import Run, StoredPuzzle
from cagematch.problems.kinds import KINDS
from cagematch.problems.outcome import Status, Task
from cagematch.scheduler.reports.puzzles.evidence import ConfigurationsByStatus, by, claims, of_tasks, placed, short
from cagematch.scheduler.reports.scope import Scope, over
from cagematch.scheduler.reports.table import Column, Table

COLUMNS = [
    Column("place", "place", left=True),
    Column("changes", "changes"),
    Column("found", "found", left=True),
    Column("cells", "cells", short, left=True),
    Column("by", "by", short, left=True),
    Column("label", "label", short, left=True, optional=True),
    Column("kind", "kind", left=True, programs=True),
    Column("puzzle", "puzzle", left=True, programs=True),
    Column("solution", "solution", left=True, programs=True),
]


def tables(connection: Connection, covered: Scope) -> list[Table]:
    """Return a table per set, in the order of the set."""
    covered = of_tasks(connection, covered, Task.REPAIR)
    numbers = over(select(Run.puzzle_id), covered)
    claimed = claims(connection, covered, numbers)
    best = {row.puzzle_id: row for row in connection.execute(_best(covered))}
    found = {puzzle: _row(best.get(puzzle), names) for puzzle, names in claimed.items()}
    sets = placed(connection, covered, found, numbers) if found else {}
    return [
        Table(name, f"{len(rows):,} puzzle{'s' * (len(rows) != 1)} to repair", COLUMNS, rows)
        for name, rows in sets.items()
    ]


def changed(kind: str, text: str, solution: str) -> list[str]:
    """Return the clues that a repair changes: ``r3c4: 5 → 7``."""
    values = KINDS[kind].assignment(text, solution)
    return [
        f"{KINDS[kind].name(text, variable)}: {given} → {values[variable]}"
        for variable, given in KINDS[kind].problem(text).givens
        if values[variable] != given
    ]


def _best(covered: Scope) -> Select[*tuple[Any, ...]]:
    """Return the query for the first repair with the fewest changes of each puzzle."""
    ranked = over(
        select(
            Run.id,
            func.row_number().over(partition_by=Run.puzzle_id, order_by=(Run.changes, Run.id)).label("rank"),
        ),
        covered,
    ).where(Run.holds.is_(True))
    first = ranked.subquery()
    return (
        select(Run.puzzle_id, Run.changes, Run.solution, StoredPuzzle.kind, StoredPuzzle.text)
        .join(first, (first.c.id == Run.id) & (first.c.rank == 1))
        .join(StoredPuzzle, StoredPuzzle.id == Run.puzzle_id)
    )


def _row(best: Any, claimed: ConfigurationsByStatus) -> dict[str, Any]:
    found = next((w for w in (Status.REPAIRED, Status.NO_SOLUTION) if w in claimed), None)
    row = {"found": found.value if found else "undecided", "by": by(claimed, [found] if found else Status)}
    if best is None:
        return row | {"changes": None, "cells": None, "solution": None}
    cells = ", ".join(changed(best.kind, best.text, best.solution))
    return row | {"changes": best.changes, "cells": cells, "solution": best.solution}
