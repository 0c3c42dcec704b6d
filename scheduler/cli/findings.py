"""What the runs of a task say of the puzzles, for people: the first few rows, drawings, and one line that sums up."""

from __future__ import annotations

import sys
from collections import Counter
from dataclasses import dataclass, replace
from typing import TYPE_CHECKING

from cagematch.problems.errors import InputError
from cagematch.scheduler.cli.application import notes, output

if TYPE_CHECKING:
    from rich.console import Console
    from sqlalchemy import Connection, Engine

    from cagematch.scheduler.reports.scope import Scope
    from cagematch.scheduler.reports.table import Table

ROWS = 20  # on a terminal; files have them all
DRAWN = 3  # puzzles with two solutions


@dataclass(frozen=True, slots=True)
class Findings:
    """The tables of a report on puzzles, by its name in REPORTS, and how many puzzles it was about."""

    name: str
    tables: list[Table]
    puzzles: int

    @property
    def counted(self) -> Counter[str]:
        """How many puzzles of each finding."""
        return Counter(str(row["found"]) for table in self.tables for row in table.rows)

    @property
    def wrong(self) -> bool:
        """Whether something is the matter with a puzzle."""
        return bool(self.counted if self.name == "improper" else self.counted["disputed"])

    @property
    def summary(self) -> str:
        """One line; empty where the tables have said it all."""
        disputed = self.counted["disputed"]
        if self.name != "improper":
            return f"{_puzzles(disputed)} counted DIFFERENTLY by different configurations" if disputed else ""
        if not self.wrong:
            return f"{_puzzles(self.puzzles)}, each with exactly one solution"
        told = ", ".join(f"{number:,} {what}" for what, number in self.counted.items())
        return f"{_puzzles(self.puzzles)}, of which NOT PROPER: {told}"


def findings(connection: Connection, covered: Scope, only: str | None = None) -> list[Findings]:
    """What the covered runs say of the puzzles, task by task; of solving there is nothing to say.

    ``only``: the name of a table, which must then have runs to tell of.
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
        newest = connection.scalar(select(func.max(Batch.id)).where(Batch.task.in_(TASKS[only])))
        which = f"`scheduler report {newest} --table {only}` shows one" if newest else "there is none"
        raise InputError(f"the table {only} needs a batch of the task {' or '.join(TASKS[only])}: {which}")
    return found


def draw(name: str, tables: list[Table], batches: list[int]) -> None:
    """Draw the first rows of a report's tables, and say how to get the others."""
    from cagematch.scheduler.reports.table import show

    shown = _first(tables)
    show(shown, output())
    if left := sum(len(table.rows) for table in tables) - sum(len(table.rows) for table in shown):
        command = " ".join(("scheduler report", *map(str, batches), "--table", name, "--format csv"))
        output().print(f"and {left:,} more: `{command}`\n")
    if name == "improper":
        _draw_solutions(shown, output())


def sum_up(found: list[Findings]) -> bool:
    """Say in a line each how things stand; whether something is the matter with a puzzle."""
    for one in found:
        if one.summary:
            notes().print(one.summary, style="bold red" if one.wrong else None)
    return any(one.wrong for one in found)


def tell(engine: Engine, batch_id: int) -> bool:
    """Draw and sum up what a batch has found of its puzzles; whether something is the matter with one."""
    from cagematch.models.engine import reading
    from cagematch.scheduler.reports.scope import Scope

    with reading(engine) as connection:
        found = findings(connection, Scope((batch_id,), newest=False))
    for one in found:
        draw(one.name, one.tables, [batch_id])
    return sum_up(found)


def _puzzles(number: int) -> str:
    return f"{number:,} puzzle{'s' * (number != 1)}"


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
    for row in pairs[:DRAWN]:
        kind, text, one, other = (str(row[key]) for key in ("kind", "puzzle", "solution", "second"))
        console.print(f"{row['place']}: {summarised(differing(kind, text, one, other))}")
        for line in side_by_side(kind, text, (one, other), console.width):
            line.plain = drawable(line.plain, sys.stdout)
            console.print(line)
        console.print()
