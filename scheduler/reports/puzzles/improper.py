"""Improper puzzles: those without exactly one solution, from the runs of the tasks unique and count.

That there is no solution, or no other one, is the solver's claim. Two valid solutions refute it, and another solver may
contradict it. The puzzle is then *disputed* and comes first. A puzzle that no run decided is *undecided*.

::

    book  3 puzzles are not proper
    place   found        by                               label
    book:4  disputed     no solution: scip; unique: cbc   four
    book:2  several      cp-sat, scip, cbc                two
    book:3  undecided    timeout: cp-sat, scip, cbc       three
"""

from __future__ import annotations

from enum import StrEnum
from typing import Any

from sqlalchemy import Connection, Select, case, func, not_, select

from cagematch.models import Run
from cagematch.problems.outcome import DECIDED, Answer, Status, Stop, Task
from cagematch.scheduler.reports.puzzles.evidence import (
    ConfigurationsByStatus,
    by,
    claims,
    evidence,
    of_tasks,
    pairs,
    placed,
    short,
)
from cagematch.scheduler.reports.scope import Scope, over
from cagematch.scheduler.reports.table import Column, Table

TASKS = (Task.UNIQUE, Task.COUNT)


class Finding(StrEnum):
    """Why a puzzle is not known to be proper, from the most to the least severe reason."""

    DISPUTED = "disputed"
    SEVERAL = "several"
    NO_SOLUTION = "no solution"
    UNDECIDED = "undecided"


COLUMNS = [
    Column("place", "place", left=True),
    Column("found", "found", left=True),
    Column("by", "by", short, left=True),
    Column("label", "label", short, left=True, optional=True),
    Column("kind", "kind", left=True, programs=True),
    Column("puzzle", "puzzle", left=True, programs=True),
    Column("solution", "solution", left=True, programs=True),
    Column("second", "second", left=True, programs=True),
]
SEVERITY = list(Finding)


def tables(connection: Connection, covered: Scope) -> list[Table]:
    """Return a table per set with improper puzzles, by severity and in the order of the set."""
    covered = of_tasks(connection, covered, *TASKS)
    improper = _improper(covered)
    shown = {row.puzzle_id: row for row in connection.execute(improper)}
    numbers = select(improper.subquery().c.puzzle_id)
    claimed = claims(connection, covered, numbers) if shown else {}
    two = pairs(connection, numbers) if shown else {}
    found = {number: _row(row, claimed[number], two.get(number)) for number, row in shown.items()}
    sets = placed(connection, covered, found, numbers) if shown else {}
    return [_table(name, rows) for name, rows in sets.items()]


def _improper(covered: Scope) -> Select[*tuple[Any, ...]]:
    """Return the query for the puzzles that are not known to be proper, with the claims and the evidence on them."""
    finished = Run.stop == Stop.FINISHED  # an answer after the timeout decides nothing
    unique = finished & Run.holds.is_(True) & Run.complete.is_(True) & (Run.count == 1)
    claimed = (
        over(
            select(
                Run.puzzle_id,
                func.sum(case((unique, 1), else_=0)).label("unique"),
                func.sum(case((finished & (Run.answer == Answer.NONE), 1), else_=0)).label("none"),
            ),
            covered,
        )
        .group_by(Run.puzzle_id)
        .subquery()
    )
    known = evidence(select(claimed.c.puzzle_id)).subquery()
    proper = (claimed.c.unique > 0) & (claimed.c.none == 0) & (known.c.solutions < 2)
    query = select(claimed.c.unique, claimed.c.none, *known.c)
    return query.join(known, known.c.puzzle_id == claimed.c.puzzle_id).where(not_(proper))


def _finding(row: Any) -> Finding:
    if row.solutions > 1:
        return Finding.DISPUTED if row.unique or row.none else Finding.SEVERAL
    if row.none:
        return Finding.DISPUTED if row.unique or row.solutions else Finding.NO_SOLUTION
    return Finding.UNDECIDED


def _row(row: Any, claimed: ConfigurationsByStatus, pair: tuple[str, str] | None) -> dict[str, Any]:
    found = _finding(row)
    statuses = [w for w in Status if (w in DECIDED) is (found is not Finding.UNDECIDED)]
    solution, second = pair or (row.least, row.most if row.most != row.least else None)
    names = by(claimed, statuses) or by(claimed, Status)
    return {"found": found.value, "by": names, "solution": solution, "second": second}


def _table(name: str, rows: list[dict[str, Any]]) -> Table:
    rows.sort(key=lambda row: SEVERITY.index(row["found"]))
    about = "1 puzzle is not proper" if len(rows) == 1 else f"{len(rows):,} puzzles are not proper"
    loud = {at for at, row in enumerate(rows) if row["found"] == Finding.DISPUTED}
    return Table(name, about, COLUMNS, rows, loud)
