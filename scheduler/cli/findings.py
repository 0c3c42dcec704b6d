"""Findings about puzzles from the tasks unique, count and repair: first rows, drawings and a summary line."""

from __future__ import annotations

import sys
from collections import Counter
from dataclasses import dataclass, replace
from typing import TYPE_CHECKING

from cagematch.problems.errors import InputError
from cagematch.scheduler.cli.output import notes, output, plural

if TYPE_CHECKING:
    from rich.console import Console
    from sqlalchemy import Connection, Engine

    from cagematch.scheduler.reports.scope import Scope
    from cagematch.scheduler.reports.table import Table

ROWS = 20  # shown on a terminal; files contain all rows
PAIRS = 3  # puzzles drawn with two solutions


@dataclass(frozen=True, slots=True)
class Findings:
    """The tables of one report on puzzles.

    Attributes
    ----------
    name
        Key of the report in `REPORTS`.
    puzzles
        Number of puzzles that the report covers.

    """

    name: str
    tables: list[Table]
    puzzles: int

    @property
    def counted(self) -> Counter[str]:
        """Number of puzzles per finding."""
        return Counter(str(row["found"]) for table in self.tables for row in table.rows)

    @property
    def wrong(self) -> bool:
        """Whether a puzzle is not proper or disputed."""
        return bool(self.counted if self.name == "improper" else self.counted["disputed"])

    @property
    def summary(self) -> str:
        """One line, or an empty text where the tables need no summary."""
        disputed = self.counted["disputed"]
        if self.name != "improper":
            return f"configurations report DIFFERENT counts for {plural(disputed, 'puzzle')}" if disputed else ""
        if not self.wrong:
            return f"{plural(self.puzzles, 'puzzle')}, each with exactly one solution"
        findings_counted = ", ".join(f"{number:,} {finding}" for finding, number in self.counted.items())
        return f"{plural(self.puzzles, 'puzzle')}, NOT PROPER: {findings_counted}"


def findings(connection: Connection, covered: Scope, only: str | None = None) -> list[Findings]:
    """Return what the covered runs find about puzzles, report by report; the task solve has no findings.

    Parameters
    ----------
    only
        Name of the single report to return.

    Raises
    ------
    InputError
        ``only`` names a report on puzzles, and no covered run has a task that it needs.

    """
    from sqlalchemy import func, select

    from cagematch.models import Batch
    from cagematch.scheduler.reports import REPORTS, TASKS
    from cagematch.scheduler.reports.puzzles.evidence import number_of, of_tasks

    found = []
    for name, tasks in TASKS.items():
        part = of_tasks(connection, covered, *(tasks if only else tasks[:1]))
        if only in (None, name) and part.batches:
            found.append(Findings(name, REPORTS[name](connection, part), number_of(connection, part)))
    if only in TASKS and not found and covered.batches:
        latest = connection.scalar(select(func.max(Batch.id)).where(Batch.task.in_(TASKS[only])))
        command = f"report {latest} --table {only}" if latest else f"submit hard --task {TASKS[only][0]}"
        action = "shows the latest one" if latest else "creates one"
        raise InputError(
            f"the table {only} needs a batch of the task {' or '.join(TASKS[only])}: `scheduler {command}` {action}"
        )
    return found


def draw(name: str, tables: list[Table], batches: list[int]) -> None:
    """Print the first rows of a report's tables, and the command that prints all of them."""
    from cagematch.scheduler.reports.table import show

    shown = _first(tables)
    show(shown, output())
    if hidden := sum(len(table.rows) for table in tables) - sum(len(table.rows) for table in shown):
        command = " ".join(("scheduler report", *map(str, batches), "--table", name, "--format csv"))
        output().print(f"{plural(hidden, 'more row')}: `{command}` prints all\n")
    if name == "improper":
        _draw_solutions(shown, output())


def print_summaries(found: list[Findings]) -> bool:
    """Print the summary line of each report; return whether a puzzle is not proper or disputed."""
    for one in found:
        if one.summary:
            notes().print(one.summary, style="bold red" if one.wrong else None)
    return any(one.wrong for one in found)


def print_findings(engine: Engine, batch_id: int) -> bool:
    """Print tables and summaries of a batch; return whether a puzzle is not proper or disputed."""
    from cagematch.models.engine import reading
    from cagematch.scheduler.reports.scope import Scope

    with reading(engine) as connection:
        found = findings(connection, Scope((batch_id,), newest=False))
    for one in found:
        draw(one.name, one.tables, [batch_id])
    return print_summaries(found)


def _first(tables: list[Table]) -> list[Table]:
    shown, room = [], ROWS
    for table in tables:
        if room > 0:
            shown.append(replace(table, rows=table.rows[:room], loud={at for at in table.loud if at < room}))
        room -= len(table.rows)
    return shown


def _draw_solutions(tables: list[Table], console: Console) -> None:
    from cagematch.scheduler.cli.consoles import drawable
    from cagematch.scheduler.reports.puzzles.drawing import differing, side_by_side, summarised

    pairs = [row for table in tables for row in table.rows if row["second"]]
    for row in pairs[:PAIRS]:
        kind, text, one, other = (str(row[key]) for key in ("kind", "puzzle", "solution", "second"))
        console.print(f"{row['place']}: {summarised(differing(kind, text, one, other))}")
        for line in side_by_side(kind, text, (one, other), console.width):
            line.plain = drawable(line.plain, sys.stdout)
            console.print(line)
        console.print()
