"""The plan of a shift: which runs of a claimed shard are left to do."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass

from sqlalchemy import Connection, Engine, exists, select

from cagematch.models import BatchPuzzle, Run, StoredPuzzle
from cagematch.models.engine import reading
from cagematch.workers.shards.leases import ClaimedShard


@dataclass(frozen=True, slots=True)
class PlannedRun:
    """A run to do: its index among the runs of the configuration, and its puzzle."""

    index: int
    repeat: int
    puzzle_id: int
    kind: str
    text: str


def planned_runs(engine: Engine, claimed: ClaimedShard) -> list[PlannedRun]:
    """The runs of a shard that are not stored, in order. Late runs of an earlier lease may already be stored."""
    found: list[PlannedRun] = []
    with reading(engine) as connection:
        index = claimed.position
        while index < claimed.stop:
            repeat, first = divmod(index, claimed.puzzles)
            last = min(claimed.puzzles, first + claimed.stop - index)
            found += _slice(connection, claimed, repeat, range(first, last), index - first)
            index += last - first
    return found


def _slice(
    connection: Connection, claimed: ClaimedShard, repeat: int, positions: range, offset: int
) -> Iterator[PlannedRun]:
    of_these = (Run.batch_id == claimed.batch_id) & (Run.configuration_id == claimed.configuration_id)
    stored = exists().where(of_these, Run.puzzle_id == BatchPuzzle.puzzle_id, Run.repeat == repeat)
    rows = connection.execute(
        select(BatchPuzzle.position, StoredPuzzle.id, StoredPuzzle.kind, StoredPuzzle.text)
        .join(BatchPuzzle, StoredPuzzle.id == BatchPuzzle.puzzle_id)
        .where(BatchPuzzle.batch_id == claimed.batch_id, ~stored)
        .where(BatchPuzzle.position >= positions.start, BatchPuzzle.position < positions.stop)
        .order_by(BatchPuzzle.position)
    )
    return (PlannedRun(offset + row.position, repeat, row.id, row.kind, row.text) for row in rows)
