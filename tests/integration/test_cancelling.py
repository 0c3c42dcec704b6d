"""Cancelling and resuming at one time with each other and with workers: one order or the other, nothing in between."""

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


def test_of_several_that_cancel_at_one_time_each_run_is_dropped_by_one(engine: Engine):
    make_batch(engine, puzzles=20, size=2)
    dropped: list[int] = []

    at_once(4, lambda _: dropped.append(cancel(engine, 1)))

    assert sorted(dropped) == [0, 0, 0, 20]
    assert states(engine, 1) == (BatchState.CANCELLED, {ShardState.CANCELLED})


def test_several_that_resume_at_one_time_see_the_same_left_and_send_each_shard_once(engine: Engine):
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


def test_cancelled_and_resumed_at_one_time_a_batch_is_one_or_the_other(engine: Engine):
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
def test_resumed_while_it_is_being_cancelled_a_batch_goes_on(engine: Engine):
    """The cancel has dropped the shards and waits for the batch when the resume comes, which sees none dropped yet."""
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
    """How many sessions wait for a lock."""
    here = "datname = current_database() AND wait_event_type = 'Lock'"
    with reading(engine) as connection:
        return connection.execute(text(f"SELECT count(*) FROM pg_stat_activity WHERE {here}")).scalar_one()  # noqa: S608


def test_cancelled_while_it_finishes_a_batch_is_done_or_cancelled(engine: Engine):
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


def test_resumed_while_its_last_shard_finishes_a_batch_is_not_left_open(engine: Engine):
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


def test_what_ends_after_its_batch_was_cancelled_is_not_stored(engine: Engine):
    (shard_id,) = make_batch(engine, puzzles=4, size=4)
    keeper = KeeperClient(before=lambda _: cancel(engine, 1))

    work_on(shard_id, Slots(engine, lambda: keeper))

    assert runs(engine) == []
    assert shard(engine, shard_id).state is ShardState.CANCELLED
