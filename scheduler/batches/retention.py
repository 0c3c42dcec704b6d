"""Taking old batches out of a database, with all that nothing else refers to then."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass
from typing import Any

from sqlalchemy import Engine, delete, exists, func, select, update

from cagematch.models import Batch, BatchPuzzle, BatchSet, BatchState, PuzzleSet, Run, SetEntry, Shard, StoredPuzzle
from cagematch.models.base import now
from cagematch.models.engine import reading, writing
from cagematch.problems.errors import InputError

CHUNK = 20_000  # rows a transaction: results of other batches get in between
DAY_S = 86_400.0
Noticed = Callable[[int, int], None]  # rows gone so far, of how many


@dataclass(frozen=True, slots=True)
class Doomed:
    """What would go: batches and their runs, then the sets and puzzles that no other batch is made of."""

    batches: list[int]
    runs: int
    sets: list[str]
    puzzles: int

    @property
    def nothing(self) -> bool:
        """Whether nothing would."""
        return not (self.batches or self.sets or self.puzzles)


def older_than(engine: Engine, days: float) -> list[int]:
    """The batches that ended so long ago."""
    with reading(engine) as connection:
        over = select(Batch.id).where(Batch.finished_at < now() - days * DAY_S).order_by(Batch.id)
        return list(connection.scalars(over))


def doomed(engine: Engine, batches: list[int], *, unused: bool) -> Doomed:
    """Look what pruning would take. Raises InputError for a batch that is not over.

    ``unused``: sets go, too, and puzzles, that no batch is made of then.
    """
    with reading(engine) as connection:
        active = select(Batch.id).where(Batch.id.in_(batches), Batch.state == BatchState.ACTIVE)
        if at_work := connection.scalars(active.order_by(Batch.id)).all():
            raise InputError(f"batch {at_work[0]} is at work; `scheduler cancel {at_work[0]}` first")
        runs = connection.scalar(select(func.count()).where(Run.batch_id.in_(batches))) or 0
        if not unused:
            return Doomed(batches, runs, [], 0)
        sets = connection.scalars(select(PuzzleSet.name).where(_idle_set(batches)).order_by(PuzzleSet.id))
        puzzles = connection.scalar(select(func.count()).select_from(StoredPuzzle).where(_idle_puzzle(batches))) or 0
        return Doomed(batches, runs, list(sets), puzzles)


def prune(engine: Engine, found: Doomed, noticed: Noticed = lambda _, __: None) -> None:
    """Take it out, a chunk at a time. What is interrupted is gone as far as it came; the same again goes on."""
    done = 0
    for batch_id in found.batches:
        with writing(engine) as connection:
            over = update(Batch).where(Batch.id == batch_id, Batch.state != BatchState.ACTIVE)
            if not connection.execute(over.values(state=BatchState.CANCELLED)).rowcount:
                raise InputError(f"batch {batch_id} was taken up again meanwhile: it was left as it is")
            # Without these nobody can take it up again while its runs go.
            connection.execute(delete(Shard).where(Shard.batch_id == batch_id))
        while gone := _chunk(engine, Run, Run.batch_id == batch_id):
            done += gone
            noticed(done, found.runs + found.puzzles)
        with writing(engine) as connection:
            connection.execute(delete(Batch).where(Batch.id == batch_id))
    if found.sets or found.puzzles:
        with writing(engine) as connection:
            connection.execute(delete(PuzzleSet).where(_idle_set([])))
        while gone := _chunk(engine, StoredPuzzle, _idle_puzzle([])):
            done += gone
            noticed(done, found.runs + found.puzzles)
    _tidy(engine)


def _chunk(engine: Engine, table: Any, which: Any) -> int:
    with writing(engine) as connection:
        some = select(table.id).where(which).limit(CHUNK)
        return int(connection.execute(delete(table).where(table.id.in_(some))).rowcount)


def _idle_set(besides: list[int]) -> Any:
    """A set that no batch is made of, but perhaps these; one that is being loaded is left alone."""
    used = exists().where(BatchSet.set_id == PuzzleSet.id, BatchSet.batch_id.not_in(besides))
    return PuzzleSet.ready & ~used


def _idle_puzzle(besides: list[int]) -> Any:
    """A puzzle of no set that stays, and of no batch."""
    kept = select(PuzzleSet.id).where(~_idle_set(besides))
    return ~(
        exists().where(SetEntry.puzzle_id == StoredPuzzle.id, SetEntry.set_id.in_(kept))
        | exists().where(BatchPuzzle.puzzle_id == StoredPuzzle.id, BatchPuzzle.batch_id.not_in(besides))
        | exists().where(Run.puzzle_id == StoredPuzzle.id, Run.batch_id.not_in(besides))
    )


def _tidy(engine: Engine) -> None:
    """Give a SQLite file's room back; a server does so by itself."""
    if engine.dialect.name == "sqlite":
        with engine.connect() as connection:
            driver: Any = connection.connection
            driver.execute("VACUUM")
