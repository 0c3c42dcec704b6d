"""Concurrent cancels, resumes and workers: the result is that of one order or the other."""

from __future__ import annotations

import threading

import pytest
from commanding import until
from rows import KeeperClient, Slots, make_batch, make_worker, memory_app, runs, shard
from sqlalchemy import Engine, func, select, text
from test_engine import at_once

from cagematch.models import Batch, BatchState, Shard, ShardState
from cagematch.models.engine import reading, writing
from cagematch.scheduler.batches.transitions import cancel, resume
from cagematch.workers.queues.dispatch import enqueue
from cagematch.workers.shards.leases import claim, finish, renew
from cagematch.workers.shards.shifts import work_on

ROUNDS = 8


def states(engine: Engine, batch_id: int) -> tuple[BatchState, set[ShardState]]:
    with reading(engine) as connection:
        batch = connection.scalars(select(Batch.state).where(Batch.id == batch_id)).one()
        return batch, set(connection.scalars(select(Shard.state).where(Shard.batch_id == batch_id)))


def newest(engine: Engine) -> int:
    with reading(engine) as connection:
        return connection.scalars(select(func.max(Batch.id))).one()


def test_concurrent_cancels(engine: Engine):
    """Of several concurrent cancels, exactly one cancels each run."""
    make_batch(engine, puzzles=20, size=2)
    dropped: list[int] = []

    at_once(4, lambda _: dropped.append(cancel(engine, 1)))

    assert sorted(dropped) == [0, 0, 0, 20]
    assert states(engine, 1) == (BatchState.CANCELLED, {ShardState.CANCELLED})


def test_concurrent_resumes(engine: Engine):
    """Concurrent resumes report the same remaining runs, and each shard is sent once."""
    make_batch(engine, puzzles=20, size=2)
    cancel(engine, 1)
    app = memory_app(engine)
    left: list[int] = []

    def go_on(_: int) -> None:
        left.append(resume(engine, 1, alone=False))
        enqueue(app, engine, 1)

    at_once(4, go_on)

    assert left == [20] * 4
    assert states(engine, 1) == (BatchState.ACTIVE, {ShardState.QUEUED, ShardState.WAITING})


def test_concurrent_cancel_and_resume(engine: Engine):
    """A batch cancelled and resumed concurrently is either cancelled or active."""
    for _ in range(ROUNDS):
        make_batch(engine, puzzles=8, size=1)
        batch = newest(engine)

        def decide(number: int, batch: int = batch) -> None:
            if number % 2:
                cancel(engine, batch)
            else:
                resume(engine, batch, alone=False)

        at_once(4, decide)

        state, shards = states(engine, batch)
        if state is BatchState.CANCELLED:
            assert shards == {ShardState.CANCELLED}
        else:
            assert state is BatchState.ACTIVE
            assert ShardState.CANCELLED not in shards


@pytest.mark.parametrize("bare", ["postgresql"], indirect=True)
def test_resume_during_a_cancel(engine: Engine):
    """The batch continues.

    The cancel has cancelled the shards and waits for the batch; the resume does not yet see them as cancelled.
    """
    make_batch(engine, puzzles=8, size=1)
    left: list[int] = []
    cancelling = threading.Thread(target=cancel, args=(engine, 1))
    resuming = threading.Thread(target=lambda: left.append(resume(engine, 1, alone=False)))

    with writing(engine) as connection:
        connection.execute(select(Batch.id).with_for_update())
        for number, thread in enumerate((cancelling, resuming), 1):
            thread.start()
            until(lambda number=number: waiting(engine) == number)
    cancelling.join()
    resuming.join()

    assert left == [8]
    assert states(engine, 1) == (BatchState.ACTIVE, {ShardState.WAITING})


def waiting(engine: Engine) -> int:
    """The number of sessions that wait for a lock."""
    here = "datname = current_database() AND wait_event_type = 'Lock'"
    with reading(engine) as connection:
        return connection.execute(text(f"SELECT count(*) FROM pg_stat_activity WHERE {here}")).scalar_one()  # noqa: S608


def test_cancel_while_the_batch_finishes(engine: Engine):
    """The batch is either done or cancelled."""
    for _ in range(ROUNDS):
        (shard_id,) = make_batch(engine, puzzles=2, size=2)
        batch, claimed = newest(engine), claim(engine, shard_id, make_worker(engine))
        dropped: list[int] = []

        def end(number: int, batch: int = batch, claimed=claimed, dropped: list[int] = dropped) -> None:
            if number:
                dropped.append(cancel(engine, batch))
                return
            with writing(engine) as connection:
                if renew(connection, claimed, claimed.stop):
                    finish(connection, claimed)

        at_once(2, end)

        expected = (
            (BatchState.CANCELLED, {ShardState.CANCELLED}) if dropped[0] else (BatchState.DONE, {ShardState.DONE})
        )
        assert states(engine, batch) == expected


def test_resume_while_the_last_shard_finishes(engine: Engine):
    """The batch is done; it does not stay active without shards."""
    for _ in range(ROUNDS):
        (shard_id,) = make_batch(engine, puzzles=2, size=2)
        batch, claimed = newest(engine), claim(engine, shard_id, make_worker(engine))

        def end(number: int, batch: int = batch, claimed=claimed) -> None:
            if number:
                resume(engine, batch, alone=False)
                return
            with writing(engine) as connection:
                renew(connection, claimed, claimed.stop)
                finish(connection, claimed)

        at_once(2, end)

        assert states(engine, batch) == (BatchState.DONE, {ShardState.DONE})


def test_run_that_ends_after_a_cancel(engine: Engine):
    """A run that ends after its batch was cancelled is not stored."""
    (shard_id,) = make_batch(engine, puzzles=4, size=4)
    keeper = KeeperClient(before=lambda _: cancel(engine, 1))

    work_on(shard_id, Slots(engine, lambda: keeper))

    assert runs(engine) == []
    assert shard(engine, shard_id).state is ShardState.CANCELLED
