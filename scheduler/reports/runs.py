"""Runs as reports and exports see them: which are covered, and whether each answer was right."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass
from datetime import UTC, datetime
from typing import Any

from sqlalchemy import Connection, RowMapping, Select, case, func, or_, select
from sqlalchemy.orm import aliased

from models import (
    Batch,
    BatchSet,
    Configuration,
    Host,
    Puzzle,
    PuzzleSet,
    Run,
    SetEntry,
    Size,
    Worker,
)
from problems.outcome import NOTHING_KNOWN, Answer, Known, Outcome, Task, Verdict, Word, verdict, word

CHUNK = 5_000
DIGITS = 6  # of seconds and MiB; finer is noise
# In the order of the fields of `Outcome`.
OUTCOME = (Batch.task, Run.answer, Run.stop, Run.holds, Run.count, Run.complete, Run.changes)
EXPORTED = (
    Run.id.label("run"),
    Batch.id.label("batch"),
    Puzzle.kind,
    Puzzle.text.label("puzzle"),
    Configuration.text.label("configuration"),
    Run.repeat,
    Run.seed,
    *OUTCOME,
    Run.puzzle_id,
    Run.build_s,
    Run.solve_s,
    Run.wall_s,
    Run.cpu_s,
    Run.baseline_mib,
    Run.peak_mib,
    Size.variables,
    Size.constraints,
    Run.solution,
    Run.second,
    Run.verified,
    Run.counters,
    Run.signal,
    Run.detail,
    Run.threads,
    Run.cores,
    Host.name.label("host"),
    Run.finished_at,
)


@dataclass(frozen=True, slots=True)
class Scope:
    """The batches that a report covers; ``newest``: only the newest run of each puzzle × configuration."""

    batches: tuple[int, ...]
    newest: bool


@dataclass(frozen=True, slots=True)
class Judged:
    """One run of a set, as far as the comparison needs it."""

    run: int
    set_name: str
    configuration: str
    puzzle_id: int
    word: Word
    wall_s: float


def scope(connection: Connection, batches: list[int]) -> Scope:
    """The given batches; or every batch with the newest one's task and limits, the newest run of each counting."""
    if batches:
        return Scope(tuple(batches), newest=False)
    newest = connection.execute(select(Batch).where(Batch.id.in_(select(func.max(Run.batch_id))))).one_or_none()
    if newest is None:
        return Scope((), newest=True)
    alike = select(Batch.id).where(
        Batch.task == newest.task, Batch.timeout_s == newest.timeout_s, Batch.memory_mib == newest.memory_mib
    )
    return Scope(tuple(connection.scalars(alike.order_by(Batch.id))), newest=True)


def known(connection: Connection, covered: Scope) -> dict[int, Known]:
    """What anybody has shown of the puzzles of which a covered run claims that there is no more, or nothing better."""
    claimed = select(Run.puzzle_id).where(
        Run.batch_id.in_(covered.batches), or_(Run.answer == Answer.NONE, Run.complete.is_(True))
    )
    rows = connection.execute(
        select(
            Run.puzzle_id,
            func.max(Run.verified).label("solutions"),
            func.min(case((Run.holds.is_(True), Run.changes))).label("fewest"),
        )
        .where(Run.puzzle_id.in_(claimed))
        .group_by(Run.puzzle_id)
    )
    return {row.puzzle_id: Known(row.solutions or 0, row.fewest) for row in rows}


def judged(connection: Connection, covered: Scope) -> Iterator[Judged]:
    """Every covered run, once for each set that the report finds the puzzle in."""
    sets = _places(covered).subquery()
    query = (
        _covered(select(sets.c.name, Configuration.text, Run.id, Run.puzzle_id, Run.wall_s, *OUTCOME), covered)
        .join(Batch, Batch.id == Run.batch_id)
        .join(Configuration, Configuration.id == Run.configuration_id)
        .join(sets, sets.c.puzzle_id == Run.puzzle_id)
    )
    if not covered.newest:
        query = query.where(sets.c.batch_id == Run.batch_id)
    shown = known(connection, covered)
    for row in connection.execution_options(yield_per=CHUNK).execute(query).mappings():
        outcome = _outcome(row)
        told = word(outcome, verdict(outcome, shown.get(row["puzzle_id"], NOTHING_KNOWN)))
        yield Judged(row["id"], row["name"], row["text"], row["puzzle_id"], told, row["wall_s"])


def exported(connection: Connection, covered: Scope) -> Iterator[dict[str, Any]]:
    """Every covered run once, with all that is known of it; its sets are those in which the report counts it."""
    sets = select(BatchSet.set_id).where(BatchSet.batch_id == Run.batch_id).correlate(Run)
    label = select(SetEntry.label).where(SetEntry.puzzle_id == Run.puzzle_id, SetEntry.set_id.in_(sets))
    first = label.order_by(SetEntry.set_id, SetEntry.position).limit(1).scalar_subquery()
    query = (
        _covered(select(*EXPORTED, first.label("label")), covered)
        .join(Batch, Batch.id == Run.batch_id)
        .join(Puzzle, Puzzle.id == Run.puzzle_id)
        .join(Configuration, Configuration.id == Run.configuration_id)
        .join(Worker, Worker.id == Run.worker_id)
        .join(Host, Host.id == Worker.host_id)
        .outerjoin(Size, Size.id == Run.size_id)
        .order_by(Run.id)
    )
    shown = known(connection, covered)
    names = _names(connection, covered)
    for row in connection.execution_options(yield_per=CHUNK).execute(query).mappings():
        outcome = _outcome(row)
        right = verdict(outcome, shown.get(row["puzzle_id"], NOTHING_KNOWN))
        yield {name: round(value, DIGITS) if isinstance(value, float) else value for name, value in row.items()} | {
            "set": "+".join(names.get((None if covered.newest else row["batch"], row["puzzle_id"]), ())),
            "verdict": right if row["answer"] != "unknown" or right is Verdict.WRONG else None,
            "status": word(outcome, right),
            "finished_at": datetime.fromtimestamp(row["finished_at"], UTC).isoformat(timespec="milliseconds"),
        }


def _outcome(row: RowMapping) -> Outcome:
    task, *rest = (row[column.key] for column in OUTCOME)
    return Outcome(Task(task), *rest)


def covered_batches(connection: Connection, covered: Scope) -> list[int]:
    """The batches that a run of the report comes from."""
    return sorted(connection.scalars(_covered(select(Run.batch_id).distinct(), covered)))


def _covered(query: Select[Any], covered: Scope) -> Select[Any]:
    """Restrict a query over runs to those that the scope covers.

    The newest run of a puzzle and configuration stands for its whole batch: its repeats count too.
    """
    query = query.select_from(Run).where(Run.batch_id.in_(covered.batches))
    if not covered.newest or len(covered.batches) == 1:
        return query
    last = aliased(Run)
    ids = (
        select(func.max(last.id))
        .where(last.batch_id.in_(covered.batches))
        .group_by(last.configuration_id, last.puzzle_id)
    )
    newest = select(last.configuration_id, last.puzzle_id, last.batch_id).where(last.id.in_(ids)).subquery()
    return query.join(
        newest,
        (newest.c.configuration_id == Run.configuration_id)
        & (newest.c.puzzle_id == Run.puzzle_id)
        & (newest.c.batch_id == Run.batch_id),
    )


def _places(covered: Scope) -> Select[*tuple[Any, ...]]:
    """Puzzles and the names of their sets: batch by batch, or for the newest runs the newest set of each name."""
    if not covered.newest:
        return _sets().where(BatchSet.batch_id.in_(covered.batches))
    newest = (
        select(func.max(PuzzleSet.id))
        .join(BatchSet, BatchSet.set_id == PuzzleSet.id)
        .where(BatchSet.batch_id.in_(covered.batches))
        .group_by(PuzzleSet.name)
    )
    entries = select(PuzzleSet.name, SetEntry.puzzle_id).join(SetEntry, SetEntry.set_id == PuzzleSet.id)
    return entries.where(PuzzleSet.id.in_(newest)).distinct()


def _sets() -> Select[*tuple[Any, ...]]:
    """Each puzzle of each batch with the names of the sets it came from."""
    return (
        select(BatchSet.batch_id, PuzzleSet.name, SetEntry.puzzle_id)
        .join(PuzzleSet, PuzzleSet.id == BatchSet.set_id)
        .join(SetEntry, SetEntry.set_id == BatchSet.set_id)
        .distinct()
    )


def _names(connection: Connection, covered: Scope) -> dict[tuple[int | None, int], list[str]]:
    """The sets of each puzzle of each batch; of the newest runs, whatever batch they are of."""
    found: dict[tuple[int | None, int], list[str]] = {}
    for row in connection.execute(_places(covered).order_by(PuzzleSet.name)):
        found.setdefault((None if covered.newest else row.batch_id, row.puzzle_id), []).append(row.name)
    return found
