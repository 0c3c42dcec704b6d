"""Runs as reports and exports see them: which are covered, and whether each answer was right."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass
from datetime import UTC, datetime
from typing import Any

from sqlalchemy import Connection, Select, func, select
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
from problems.outcome import Verdict, Word, verdict, word

CHUNK = 5_000
DIGITS = 6  # of seconds and MiB; finer is noise
EXPORTED = (
    Run.id.label("run"),
    Batch.id.label("batch"),
    Puzzle.kind,
    Puzzle.text.label("puzzle"),
    Configuration.text.label("configuration"),
    Run.repeat,
    Run.seed,
    Run.answer,
    Run.stop,
    Run.holds,
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
    Run.count,
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


def solvable(connection: Connection, covered: Scope) -> set[int]:
    """Puzzles said to have no solution of which somebody has a verified one."""
    doubted = select(Run.puzzle_id).where(Run.batch_id.in_(covered.batches), Run.answer == "none")
    return set(connection.scalars(select(Run.puzzle_id).where(Run.puzzle_id.in_(doubted), Run.holds.is_(True))))


def judged(connection: Connection, covered: Scope) -> Iterator[Judged]:
    """Every covered run, once for each set that the report finds the puzzle in."""
    sets = _places(covered).subquery()
    columns = (Run.id, Run.answer, Run.stop, Run.holds, Run.puzzle_id, Run.wall_s)
    query = (
        _covered(select(sets.c.name, Configuration.text, *columns), covered)
        .join(Configuration, Configuration.id == Run.configuration_id)
        .join(sets, sets.c.puzzle_id == Run.puzzle_id)
    )
    if not covered.newest:
        query = query.where(sets.c.batch_id == Run.batch_id)
    known = solvable(connection, covered)
    for row in connection.execution_options(yield_per=CHUNK).execute(query):
        right = verdict(row.answer, holds=row.holds, solvable=row.puzzle_id in known)
        yield Judged(row.id, row.name, row.text, row.puzzle_id, word(row.answer, row.stop, right), row.wall_s)


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
    known = solvable(connection, covered)
    names = _names(connection, covered)
    for row in connection.execution_options(yield_per=CHUNK).execute(query).mappings():
        right = verdict(row["answer"], holds=row["holds"], solvable=row["puzzle_id"] in known)
        yield {name: round(value, DIGITS) if isinstance(value, float) else value for name, value in row.items()} | {
            "set": "+".join(names.get((None if covered.newest else row["batch"], row["puzzle_id"]), ())),
            "verdict": right if row["answer"] != "unknown" or right is Verdict.WRONG else None,
            "status": word(row["answer"], row["stop"], right),
            "finished_at": datetime.fromtimestamp(row["finished_at"], UTC).isoformat(timespec="milliseconds"),
        }


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
