"""Old batches are deleted with all rows that only they use, and nothing else is deleted."""

from __future__ import annotations

import pytest
from rows import make_batch, make_worker
from sqlalchemy import Engine, func, insert, select, update

from cagematch.models import (
    Batch,
    BatchPuzzle,
    BatchSet,
    BatchState,
    PuzzleSet,
    Run,
    SetEntry,
    Shard,
    ShardState,
    StoredPuzzle,
)
from cagematch.models.engine import reading, writing
from cagematch.problems.errors import InputError
from cagematch.scheduler.batches import retention as pruning
from cagematch.scheduler.batches.transitions import add_configurations
from cagematch.workers.configurations import configurations


def counts(engine: Engine) -> dict[str, int]:
    tables = (Batch, Run, Shard, StoredPuzzle, PuzzleSet, SetEntry, BatchPuzzle, BatchSet)
    with reading(engine) as connection:
        return {t.__tablename__: connection.scalar(select(func.count()).select_from(t)) for t in tables}


@pytest.fixture
def batch(engine: Engine) -> int:
    """Create a finished batch: three puzzles of its own set, one shard, no runs."""
    make_batch(engine, puzzles=3, size=3, state=ShardState.DONE)
    with writing(engine) as connection:
        connection.execute(update(Batch).values(state=BatchState.DONE, finished_at=1.0))
        made = insert(PuzzleSet).values(name="mine", source="mine.txt", digest="d", ready=True, created_at=0.0)
        set_id = connection.execute(made.returning(PuzzleSet.id)).scalar_one()
        puzzles = connection.scalars(select(StoredPuzzle.id)).all()
        entries = [
            {"set_id": set_id, "position": at, "puzzle_id": p, "line": 1, "label": ""} for at, p in enumerate(puzzles)
        ]
        connection.execute(insert(SetEntry), entries)
        batch_id = connection.scalar(select(Batch.id))
        connection.execute(insert(BatchSet).values(batch_id=batch_id, set_id=set_id, position=0))
    return batch_id


def test_a_batch_goes_and_its_puzzles_stay(engine: Engine, batch: int):
    pruning.prune(engine, pruning.plan_deletion(engine, [batch], unused=False))

    left = counts(engine)
    assert (left["batch"], left["run"], left["shard"], left["batch_puzzle"]) == (0, 0, 0, 0)
    assert (left["puzzle"], left["puzzle_set"], left["set_entry"]) == (3, 1, 3)


def test_number_of_a_deleted_batch(engine: Engine, batch: int):
    """The number of a deleted batch is not used again."""
    pruning.prune(engine, pruning.plan_deletion(engine, [batch], unused=False))
    make_batch(engine, puzzles=1, size=1)

    with reading(engine) as connection:
        assert connection.scalars(select(Batch.id)).all() == [batch + 1]


def test_unused_sets_and_puzzles(engine: Engine, batch: int):
    """Sets and puzzles that no remaining batch uses are deleted."""
    found = pruning.plan_deletion(engine, [batch], unused=True)

    pruning.prune(engine, found)

    assert (found.batches, found.sets, found.puzzles) == ([batch], ["mine"], 3)
    assert set(counts(engine).values()) == {0}


def test_puzzles_of_another_batch_stay(engine: Engine, batch: int):
    with writing(engine) as connection:
        row = dict(connection.execute(select(Batch.__table__)).mappings().one()) | {"id": batch + 1, "name": None}
        connection.execute(insert(Batch).values(**row))
        set_id = connection.scalar(select(PuzzleSet.id))
        connection.execute(insert(BatchSet).values(batch_id=batch + 1, set_id=set_id, position=0))

    found = pruning.plan_deletion(engine, [batch], unused=True)
    pruning.prune(engine, found)

    assert (found.sets, found.puzzles) == ([], 0)
    left = counts(engine)
    assert (left["batch"], left["puzzle"], left["puzzle_set"]) == (1, 3, 1)


def test_active_batch_is_refused(engine: Engine, batch: int):
    with writing(engine) as connection:
        connection.execute(update(Batch).values(state=BatchState.ACTIVE))

    with pytest.raises(InputError, match=f"batch {batch} is running; run `scheduler cancel {batch}` first"):
        pruning.plan_deletion(engine, [batch], unused=False)


def test_batch_resumed_meanwhile(engine: Engine, batch: int):
    """A batch that was resumed in the meantime is not deleted."""
    found = pruning.plan_deletion(engine, [batch], unused=False)
    add_configurations(engine, batch, configurations(["cp-sat"]))

    with pytest.raises(InputError, match="has been resumed"):
        pruning.prune(engine, found)

    assert counts(engine)["batch"] == 1


def test_many_runs_go_in_chunks_and_are_counted(engine: Engine, batch: int, monkeypatch: pytest.MonkeyPatch):
    monkeypatch.setattr(pruning, "CHUNK", 2)
    worker_id = make_worker(engine)
    with writing(engine) as connection:
        ids = connection.scalars(select(StoredPuzzle.id)).all()
        configuration_id = connection.scalar(select(Shard.configuration_id))
        same = {
            "batch_id": batch,
            "configuration_id": configuration_id,
            "seed": 0,
            "answer": "none",
            "stop": "finished",
        }
        same |= {"wall_s": 1.0, "detail": "", "threads": 1, "cores": "0", "worker_id": worker_id, "finished_at": 0.0}
        connection.execute(insert(Run), [same | {"puzzle_id": p, "repeat": r} for p in ids for r in range(2)])
    told: list[tuple[int, int]] = []

    pruning.prune(engine, pruning.plan_deletion(engine, [batch], unused=False), lambda *how: told.append(how))

    assert told == [(2, 6), (4, 6), (6, 6)]
    assert counts(engine)["run"] == 0


def test_batches_are_found_by_their_age(engine: Engine, batch: int):
    assert pruning.older_than(engine, 100) == [batch]
    assert pruning.older_than(engine, 365 * 1000) == []
