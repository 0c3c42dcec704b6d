"""The runs of reports and exports, with the verdict on each answer."""

from __future__ import annotations

from collections import defaultdict
from collections.abc import Iterator
from dataclasses import dataclass, replace
from datetime import UTC, datetime
from typing import Any

from sqlalchemy import Connection, Engine, RowMapping, Select, or_, select

from cagematch.models import (
    Batch,
    BatchSet,
    Host,
    PuzzleSet,
    Run,
    SetEntry,
    StoredConfiguration,
    StoredPuzzle,
    StoredSize,
    Worker,
)
from cagematch.models.engine import reading
from cagematch.problems.outcome import NOTHING_KNOWN, Answer, Known, Outcome, Status, Task, Verdict, status_of, verdict
from cagematch.scheduler.reports.puzzles.evidence import OUTCOME, evidence
from cagematch.scheduler.reports.scope import Scope, over, set_puzzles
from cagematch.scheduler.reports.sizes import ModelSize, parse

CHUNK = 5_000  # rows
DIGITS = 6  # decimals of seconds and MiB; finer is noise
EXPORTED = (
    Run.id.label("run"),
    Batch.id.label("batch"),
    StoredPuzzle.kind,
    StoredPuzzle.text.label("puzzle"),
    StoredConfiguration.text.label("configuration"),
    Run.repeat,
    Run.seed,
    *OUTCOME,
    Run.puzzle_id,
    Run.build_s,
    Run.solve_s,
    Run.wall_s,
    Run.cpu_s,
    Run.reference_s,
    Run.baseline_mib,
    Run.peak_mib,
    StoredSize.variables,
    StoredSize.constraints,
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
class JudgedRun:
    """One run of a set, with what the comparison needs."""

    run: int
    set_name: str
    task: Task
    configuration: str
    puzzle_id: int
    status: Status
    wall_s: float
    count: int | None
    changes: int | None
    size_id: int | None


def known(connection: Connection, covered: Scope) -> dict[int, Known]:
    """Return the evidence on the puzzles for which a covered run claims completeness or that there is no solution."""
    claimed = select(Run.puzzle_id).where(
        Run.batch_id.in_(covered.batches), or_(Run.answer == Answer.NONE, Run.complete.is_(True))
    )
    rows = connection.execute(evidence(claimed))
    return {row.puzzle_id: Known(row.solutions, row.fewest) for row in rows}


def refuted(engine: Engine, batch_id: int) -> int:
    """Return the number of runs of a batch that are wrong only because of the evidence of other runs."""
    covered = Scope((batch_id,), newest=False)
    with reading(engine) as connection:
        shown = {puzzle: one for puzzle, one in known(connection, covered).items() if one.solutions or one.fewest}
        claims: Select[*tuple[Any, ...]] = (
            select(Run.puzzle_id, *OUTCOME).join(Batch, Batch.id == Run.batch_id).where(Run.batch_id == batch_id)
        )
        claims = claims.where(or_(Run.answer == Answer.NONE, Run.complete.is_(True)))
        wrong = 0
        for puzzle, task, *rest in connection.execute(claims) if shown else ():
            outcome = Outcome(Task(task), *rest)
            alone, among = verdict(outcome), verdict(outcome, shown.get(puzzle, NOTHING_KNOWN))
            wrong += alone is not Verdict.WRONG and among is Verdict.WRONG
    return wrong


def judged_runs(connection: Connection, covered: Scope) -> Iterator[JudgedRun]:
    """Yield every covered run, once for each covered set that contains its puzzle."""
    sets = set_puzzles(covered).subquery()
    query = (
        over(
            select(sets.c.name, StoredConfiguration.text, Run.id, Run.puzzle_id, Run.wall_s, Run.size_id, *OUTCOME),
            covered,
        )
        .join(Batch, Batch.id == Run.batch_id)
        .join(StoredConfiguration, StoredConfiguration.id == Run.configuration_id)
        .join(sets, sets.c.puzzle_id == Run.puzzle_id)
    )
    if not covered.newest:
        query = query.where(sets.c.batch_id == Run.batch_id)
    shown = known(connection, covered)
    for row in connection.execution_options(yield_per=CHUNK).execute(query):
        name, configuration, run, puzzle, wall_s, size_id, task, *rest = row
        outcome = Outcome(Task(task), *rest)
        status = status_of(outcome, verdict(outcome, shown.get(puzzle, NOTHING_KNOWN)))
        counted = outcome.count, outcome.changes
        yield JudgedRun(run, name, outcome.task, configuration, puzzle, status, wall_s, *counted, size_id)


def puzzles_run(connection: Connection, covered: Scope) -> dict[str, set[int]]:
    """Return the ids of the puzzles that each configuration ran on in the batches, including excluded runs."""
    pairs = over(select(Run.configuration_id, Run.puzzle_id).distinct(), replace(covered.whole(), newest=False))
    found: defaultdict[int, set[int]] = defaultdict(set)
    for configuration_id, puzzle_id in connection.execute(pairs):
        found[configuration_id].add(puzzle_id)
    texts = select(StoredConfiguration.id, StoredConfiguration.text).where(StoredConfiguration.id.in_(found))
    return {text: found[configuration_id] for configuration_id, text in connection.execute(texts)}


def sizes(connection: Connection, covered: Scope) -> dict[int, ModelSize]:
    """Return the model sizes of the covered runs by their ids."""
    used = select(Run.size_id).where(Run.batch_id.in_(covered.batches))
    return {row.id: parse(row.text) for row in connection.execute(select(StoredSize).where(StoredSize.id.in_(used)))}


def exported(connection: Connection, covered: Scope) -> Iterator[dict[str, Any]]:
    """Yield every covered run once, with all its columns and the names of the covered sets of its puzzle."""
    sets = select(BatchSet.set_id).where(BatchSet.batch_id == Run.batch_id).correlate(Run)
    label = select(SetEntry.label).where(SetEntry.puzzle_id == Run.puzzle_id, SetEntry.set_id.in_(sets))
    first = label.order_by(SetEntry.set_id, SetEntry.position).limit(1).scalar_subquery()
    query = (
        over(select(*EXPORTED, first.label("label")), covered)
        .join(Batch, Batch.id == Run.batch_id)
        .join(StoredPuzzle, StoredPuzzle.id == Run.puzzle_id)
        .join(StoredConfiguration, StoredConfiguration.id == Run.configuration_id)
        .join(Worker, Worker.id == Run.worker_id)
        .join(Host, Host.id == Worker.host_id)
        .outerjoin(StoredSize, StoredSize.id == Run.size_id)
        .order_by(Run.id)
    )
    shown = known(connection, covered)
    names = _names(connection, covered)
    for row in connection.execution_options(yield_per=CHUNK).execute(query).mappings():
        outcome = _outcome(row)
        judged = verdict(outcome, shown.get(row["puzzle_id"], NOTHING_KNOWN))
        yield {name: round(value, DIGITS) if isinstance(value, float) else value for name, value in row.items()} | {
            "set": "+".join(names.get((None if covered.newest else row["batch"], row["puzzle_id"]), ())),
            "verdict": judged if row["answer"] != "unknown" or judged is Verdict.WRONG else None,
            "status": status_of(outcome, judged),
            "finished_at": datetime.fromtimestamp(row["finished_at"], UTC).isoformat(timespec="milliseconds"),
        }


def _outcome(row: RowMapping) -> Outcome:
    task, *rest = (row[column.key] for column in OUTCOME)
    return Outcome(Task(task), *rest)


def _names(connection: Connection, covered: Scope) -> dict[tuple[int | None, int], list[str]]:
    """Return the sets by batch and puzzle; for the latest runs, by puzzle alone with None as the batch."""
    found: dict[tuple[int | None, int], list[str]] = {}
    for row in connection.execute(set_puzzles(covered).order_by(PuzzleSet.name)):
        found.setdefault((None if covered.newest else row.batch_id, row.puzzle_id), []).append(row.name)
    return found
