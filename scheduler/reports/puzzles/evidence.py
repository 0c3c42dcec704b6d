"""The evidence on puzzles: their places in sets, the claims of configurations, and verified facts."""

from __future__ import annotations

from collections import defaultdict
from collections.abc import Iterable
from dataclasses import dataclass, replace
from operator import ne
from typing import Any

from sqlalchemy import ColumnElement, Connection, Select, case, func, select

from cagematch.models import Batch, PuzzleSet, Run, SetEntry, StoredConfiguration, StoredPuzzle
from cagematch.problems.outcome import Outcome, Status, Task, status_of, verdict
from cagematch.scheduler.reports.scope import Scope, over, sets_covered
from cagematch.scheduler.reports.table import Cell

SOLUTION = case((Run.holds.is_(True) & (Run.verified >= 1), Run.solution))  # of the puzzle itself, not of a repair
# In the order of the fields of `Outcome`.
OUTCOME = (Batch.task, Run.answer, Run.stop, Run.holds, Run.count, Run.complete, Run.changes)
SHORT = 40  # characters of a cell on a terminal
ConfigurationsByStatus = dict[Status, list[str]]


@dataclass(frozen=True, slots=True)
class Place:
    """The first position of a puzzle in a set, from 0, and its label there."""

    set_name: str
    position: int
    label: str

    @property
    def name(self) -> str:
        """The place as `scheduler show` accepts it: ``hard:3``."""
        return f"{self.set_name}:{self.position + 1}"


def of_tasks(connection: Connection, covered: Scope, *tasks: Task) -> Scope:
    """Restrict a scope to the batches of some tasks."""
    wanted = select(Batch.id).where(Batch.id.in_(covered.batches), Batch.task.in_(tasks)).order_by(Batch.id)
    return replace(covered, batches=tuple(connection.scalars(wanted)))


def number_of(connection: Connection, covered: Scope) -> int:
    """Return the number of distinct puzzles in the covered sets that have covered runs."""
    entries = select(SetEntry.puzzle_id).where(SetEntry.set_id.in_(sets_covered(covered)))
    query = over(select(func.count(Run.puzzle_id.distinct())), covered).where(Run.puzzle_id.in_(entries))
    return int(connection.execute(query).scalar_one())


def evidence(puzzles: Select[int]) -> Select[*tuple[Any, ...]]:
    """Return the query for the verified facts on puzzles, from the runs of all batches.

    Returns
    -------
    Select
        Per puzzle: ``solutions``, the minimum number of solutions; ``fewest``, the fewest changes of a repair; and
        ``least`` and ``most``, two solutions that differ if two runs have found different ones.
    """
    least, most = func.min(SOLUTION), func.max(SOLUTION)
    return (
        select(
            Run.puzzle_id,
            _greater(func.coalesce(func.max(Run.verified), 0), case((least != most, 2), else_=0)).label("solutions"),
            func.min(case((Run.holds.is_(True), Run.changes))).label("fewest"),
            least.label("least"),
            most.label("most"),
        )
        .where(Run.puzzle_id.in_(puzzles))
        .group_by(Run.puzzle_id)
    )


def _greater(one: ColumnElement[int], other: ColumnElement[int]) -> ColumnElement[int]:
    return case((one > other, one), else_=other)


def pairs(connection: Connection, puzzles: Select[int]) -> dict[int, tuple[str, str]]:
    """Return two verified solutions of each puzzle from one run: those that differ in the fewest characters."""
    query: Select[*tuple[Any, ...]] = select(Run.puzzle_id, Run.solution, Run.second).where(
        Run.puzzle_id.in_(puzzles), Run.verified >= 2, Run.holds.is_(True), Run.second.is_not(None)
    )
    found: dict[int, tuple[int, str, str]] = {}
    for puzzle, one, other in connection.execute(query.order_by(Run.id)):
        pair = (sum(map(ne, one, other)), one, other)
        found[puzzle] = min(pair, found.get(puzzle, pair))
    return {puzzle: pair[1:] for puzzle, pair in found.items()}


def claims(connection: Connection, covered: Scope, puzzles: Select[int]) -> dict[int, ConfigurationsByStatus]:
    """Return the claims of configurations by puzzle. The statuses come from each run alone, without other evidence."""
    query = (
        over(select(Run.puzzle_id, StoredConfiguration.text, *OUTCOME), covered)
        .join(Batch, Batch.id == Run.batch_id)
        .join(StoredConfiguration, StoredConfiguration.id == Run.configuration_id)
        .where(Run.puzzle_id.in_(puzzles))
        .order_by(Run.puzzle_id, StoredConfiguration.id)
        .distinct()
    )
    found: defaultdict[int, ConfigurationsByStatus] = defaultdict(dict)
    for puzzle, configuration, task, *rest in connection.execute(query):
        outcome = Outcome(Task(task), *rest)
        names = found[puzzle].setdefault(status_of(outcome, verdict(outcome)), [])
        if configuration not in names:
            names.append(configuration)
    return found


def by(claimed: ConfigurationsByStatus, only: Iterable[Status]) -> str:
    """Return the configurations by claim as text: ``several: cp-sat, scip; unique: cbc``. One claim is not named."""
    selected = {claim: claimed[claim] for claim in only if claim in claimed}
    if len(selected) == 1:
        return ", ".join(*selected.values())
    return "; ".join(f"{claim}: {', '.join(names)}" for claim, names in selected.items())


def placed(
    connection: Connection, covered: Scope, found: dict[int, dict[str, Cell]], puzzles: Select[int]
) -> dict[str, list[dict[str, Cell]]]:
    """Group rows by set, in the order of the set, and add the place, label, kind and text of each puzzle.

    Parameters
    ----------
    found
        The rows by puzzle id.
    puzzles
        The query for the ids of these puzzles.
    """
    query = (
        select(PuzzleSet.name, SetEntry.position, SetEntry.label, StoredPuzzle.id, StoredPuzzle.kind, StoredPuzzle.text)
        .join(SetEntry, SetEntry.set_id == PuzzleSet.id)
        .join(StoredPuzzle, StoredPuzzle.id == SetEntry.puzzle_id)
        .where(PuzzleSet.id.in_(sets_covered(covered)), SetEntry.puzzle_id.in_(puzzles))
        .order_by(PuzzleSet.name, PuzzleSet.id.desc(), SetEntry.position)
    )
    sets: defaultdict[str, dict[int, dict[str, Cell]]] = defaultdict(dict)
    for name, position, label, number, kind, text in connection.execute(query):
        if number in found and number not in sets[name]:
            place = Place(name, position, label)
            about: dict[str, Cell] = {"place": place.name, "label": place.label, "kind": kind, "puzzle": text}
            sets[name][number] = about | found[number]
    return {name: list(rows.values()) for name, rows in sets.items()}


def short(text: Any) -> str:
    """Cut a text to the width of a cell."""
    whole = str(text)
    return whole if len(whole) <= SHORT else whole[: SHORT - 1] + "…"
