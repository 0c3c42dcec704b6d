"""Deletion of old batches, and of the sets and puzzles that no remaining batch uses."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any

from sqlalchemy import Engine, delete, exists, func, select, update

from cagematch.models import Batch, BatchPuzzle, BatchSet, BatchState, PuzzleSet, Run, SetEntry, Shard, StoredPuzzle
from cagematch.models.base import now
from cagematch.models.engine import reading, writing
from cagematch.problems.errors import InputError
from cagematch.scheduler.batches.callbacks import ProgressCallback

CHUNK = 20_000  # rows per transaction; other batches store results between two chunks
DAY_S = 86_400.0


@dataclass(frozen=True, slots=True)
class Deletion:
    """What a deletion removes.

    Parameters
    ----------
    batches
        The ids of the batches.
    runs
        The number of their runs.
    sets
        The names of the sets that no remaining batch uses.
    puzzles
        The number of puzzles that no remaining batch or set uses.
    """

    batches: list[int]
    runs: int
    sets: list[str]
    puzzles: int

    @property
    def nothing(self) -> bool:
        """Whether there is nothing to delete."""
        return not (self.batches or self.sets or self.puzzles)


def older_than(engine: Engine, days: float) -> list[int]:
    """Return the ids of the batches that finished more than ``days`` days ago."""
    with reading(engine) as connection:
        over = select(Batch.id).where(Batch.finished_at < now() - days * DAY_S).order_by(Batch.id)
        return list(connection.scalars(over))


def plan_deletion(engine: Engine, batches: list[int], *, unused: bool) -> Deletion:
    """Find what a deletion of batches removes.

    Parameters
    ----------
    unused
        Also remove the sets and puzzles that no remaining batch uses.

    Raises
    ------
    InputError
        A batch is still running.
    """
    with reading(engine) as connection:
        active = select(Batch.id).where(Batch.id.in_(batches), Batch.state == BatchState.ACTIVE)
        if running := connection.scalars(active.order_by(Batch.id)).all():
            raise InputError(f"batch {running[0]} is running; run `scheduler cancel {running[0]}` first")
        runs = connection.scalar(select(func.count()).where(Run.batch_id.in_(batches))) or 0
        if not unused:
            return Deletion(batches, runs, [], 0)
        sets = connection.scalars(select(PuzzleSet.name).where(_idle_set(batches)).order_by(PuzzleSet.id))
        puzzles = connection.scalar(select(func.count()).select_from(StoredPuzzle).where(_idle_puzzle(batches))) or 0
        return Deletion(batches, runs, list(sets), puzzles)


def prune(engine: Engine, found: Deletion, report: ProgressCallback = lambda _, __: None) -> None:
    """Delete rows in chunks. After an interruption, the same call deletes the rest.

    Parameters
    ----------
    report
        Called after each chunk with the rows deleted so far, and the rows to delete in total.

    Raises
    ------
    InputError
        A batch was resumed after the deletion had been planned.
    """
    done = 0
    for batch_id in found.batches:
        with writing(engine) as connection:
            over = update(Batch).where(Batch.id == batch_id, Batch.state != BatchState.ACTIVE)
            if not connection.execute(over.values(state=BatchState.CANCELLED)).rowcount:
                raise InputError(f"batch {batch_id} has been resumed; run `scheduler cancel {batch_id}` first")
            # Without shards, the batch cannot be resumed while its runs are being deleted.
            connection.execute(delete(Shard).where(Shard.batch_id == batch_id))
        while deleted := _chunk(engine, Run, Run.batch_id == batch_id):
            done += deleted
            report(done, found.runs + found.puzzles)
        with writing(engine) as connection:
            connection.execute(delete(Batch).where(Batch.id == batch_id))
    if found.sets or found.puzzles:
        with writing(engine) as connection:
            connection.execute(delete(PuzzleSet).where(_idle_set([])))
        while deleted := _chunk(engine, StoredPuzzle, _idle_puzzle([])):
            done += deleted
            report(done, found.runs + found.puzzles)
    _vacuum(engine)


def _chunk(engine: Engine, table: Any, which: Any) -> int:
    with writing(engine) as connection:
        some = select(table.id).where(which).limit(CHUNK)
        return int(connection.execute(delete(table).where(table.id.in_(some))).rowcount)


def _idle_set(ignored: list[int]) -> Any:
    """Match the sets that no batch uses, except the ignored ones. Sets that are being loaded do not match."""
    used = exists().where(BatchSet.set_id == PuzzleSet.id, BatchSet.batch_id.not_in(ignored))
    return PuzzleSet.ready & ~used


def _idle_puzzle(ignored: list[int]) -> Any:
    """Match the puzzles that no remaining set and no remaining batch contains."""
    kept = select(PuzzleSet.id).where(~_idle_set(ignored))
    return ~(
        exists().where(SetEntry.puzzle_id == StoredPuzzle.id, SetEntry.set_id.in_(kept))
        | exists().where(BatchPuzzle.puzzle_id == StoredPuzzle.id, BatchPuzzle.batch_id.not_in(ignored))
        | exists().where(Run.puzzle_id == StoredPuzzle.id, Run.batch_id.not_in(ignored))
    )


def _vacuum(engine: Engine) -> None:
    """Shrink a SQLite file. A database server reclaims the space itself."""
    if engine.dialect.name == "sqlite":
        with engine.connect() as connection:
            driver: Any = connection.connection
            driver.execute("VACUUM")
