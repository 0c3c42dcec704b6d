"""Supervision: lost messages, lost workers, and one supervisor at a time."""

from __future__ import annotations

import pytest
from rows import QUEUE, make_batch, make_worker, memory_app, messages, shard
from sqlalchemy import Engine, delete, func, select, update
from test_engine import at_once

from cagematch.models import Batch, BatchState, DutyLease, Host, Shard, ShardState, Worker
from cagematch.models.base import now
from cagematch.models.engine import reading, writing
from cagematch.workers.machine.host import Survey
from cagematch.workers.queues.dispatch import PER_SLOT, enqueue, slots_of
from cagematch.workers.service import supervision
from cagematch.workers.service.supervision import Supervisor, supervise, take_duty
from cagematch.workers.shards import slots
from cagematch.workers.shards.leases import claim


def states(engine: Engine) -> dict[ShardState, int]:
    with reading(engine) as connection:
        rows = connection.execute(select(Shard.state, func.count()).group_by(Shard.state))
        return dict(map(tuple, rows))


def batches(engine: Engine) -> list[int]:
    with reading(engine) as connection:
        return list(connection.scalars(select(Batch.id).order_by(Batch.id)))


def test_window(engine: Engine):
    """A batch has a limited number of messages per slot in the queue."""
    make_batch(engine, puzzles=20, size=1, state=ShardState.WAITING)
    make_worker(engine, slots=2)
    app = memory_app(engine)

    for _ in range(3):
        enqueue(app, engine, *batches(engine))

    assert states(engine) == {ShardState.QUEUED: 2 * PER_SLOT, ShardState.WAITING: 20 - 2 * PER_SLOT}
    assert messages(app) == 2 * PER_SLOT


def test_two_batches_have_a_window_each(engine: Engine):
    for puzzles in (1000, 5):
        make_batch(engine, puzzles=puzzles, size=1, state=ShardState.WAITING)
    app = memory_app(engine)

    for batch in batches(engine):
        enqueue(app, engine, batch)

    with reading(engine) as connection:
        queued = select(Shard.batch_id, func.count()).where(Shard.state == ShardState.QUEUED).group_by(Shard.batch_id)
        assert dict(map(tuple, connection.execute(queued))) == dict.fromkeys(batches(engine), PER_SLOT)


def test_concurrent_senders(engine: Engine):
    """Concurrent senders fill a window and send each shard once."""
    make_batch(engine, puzzles=60, size=1, state=ShardState.WAITING)
    make_worker(engine, slots=10)
    app = memory_app(engine)

    at_once(4, lambda _: enqueue(app, engine, *batches(engine)))

    assert messages(app) == states(engine)[ShardState.QUEUED]


@pytest.mark.parametrize("state", [BatchState.CANCELLED, BatchState.DONE, BatchState.LOADING])
def test_inactive_batch(engine: Engine, state: BatchState):
    """No shard of an inactive batch is sent."""
    make_batch(engine, puzzles=4, size=1, state=ShardState.WAITING)
    with writing(engine) as connection:
        connection.execute(update(Batch).values(state=state))
    app = memory_app(engine)

    enqueue(app, engine, *batches(engine))
    supervise(app, engine)

    assert messages(app) == 0


def test_the_lowest_positions_go_first(engine: Engine):
    shards = make_batch(engine, puzzles=6, size=1, state=ShardState.WAITING)
    app = memory_app(engine)

    enqueue(app, engine, *batches(engine))

    assert [s for s in shards if shard(engine, s).state is ShardState.QUEUED] == shards[:PER_SLOT]


def test_lost_messages(engine: Engine):
    """Lost messages are sent again, and others are not."""
    make_batch(engine, puzzles=3, size=1)  # queued in the database long ago, and missing in the broker
    app = memory_app(engine)

    supervise(app, engine)
    assert messages(app) == 3

    with writing(engine) as connection:
        connection.execute(update(Shard).values(sent_at=0.0))
    supervise(app, engine)
    assert messages(app) == 3


def test_recent_message(engine: Engine):
    """A recently sent message is not sent again."""
    make_batch(engine, puzzles=3, size=1)
    with writing(engine) as connection:
        connection.execute(update(Shard).values(sent_at=now()))
    app = memory_app(engine)

    supervise(app, engine)

    assert messages(app) == 0


def test_a_lease_that_ran_out_is_offered_again(engine: Engine):
    (shard_id,) = make_batch(engine, puzzles=3, size=3)
    claim(engine, shard_id, make_worker(engine))
    app = memory_app(engine)
    supervise(app, engine)
    assert messages(app) == 0

    with writing(engine) as connection:
        connection.execute(update(Shard).values(lease_expires_at=now() - 1))
    supervise(app, engine)

    assert messages(app) == 1
    assert shard(engine, shard_id).state is ShardState.QUEUED


def test_a_batch_that_was_left_open_is_closed(engine: Engine):
    make_batch(engine, puzzles=3, size=3, state=ShardState.DONE)

    supervise(memory_app(engine), engine)

    with reading(engine) as connection:
        assert connection.execute(select(Batch.state, Batch.finished_at > 0)).one() == (BatchState.DONE, True)


def test_embedded_submit_and_other_batches(engine: Engine):
    """An embedded submit sends no messages of other batches."""
    for _ in range(2):
        make_batch(engine, puzzles=1, size=1)
    app = memory_app(engine)

    supervise(app, engine, only_batch=batches(engine)[0])

    assert messages(app) == 1


# -- the lease of the supervisor


def test_one_of_many_has_the_duty(engine: Engine):
    got: list[bool] = []

    at_once(6, lambda number: got.append(take_duty(engine, f"worker {number}")))

    assert sorted(got) == [False] * 5 + [True]


def test_the_duty_is_kept_until_it_runs_out(engine: Engine):
    assert take_duty(engine, "a")
    assert take_duty(engine, "a")
    assert not take_duty(engine, "b")

    with writing(engine) as connection:
        connection.execute(update(DutyLease).values(expires_at=now() - 1))

    assert take_duty(engine, "b")
    assert not take_duty(engine, "a")


def test_duty_is_released_at_the_end(engine: Engine):
    first, second = (Supervisor(memory_app(engine), engine, None, None) for _ in range(2))
    assert take_duty(engine, first._me)

    second.stop()
    assert not take_duty(engine, second._me)
    first.stop()
    assert take_duty(engine, second._me)


def test_no_error_ends_supervision(engine: Engine, monkeypatch: pytest.MonkeyPatch):
    class Alive:
        beats = 0

        def beat(self) -> None:
            self.beats += 1
            if self.beats == 2:
                raise KeyError("a library's own")
            if self.beats > 3:
                watched.stop()

    monkeypatch.setattr(supervision, "EVERY_S", 0.001)
    alive = Alive()
    watched = Supervisor(memory_app(engine), engine, alive, None)

    watched._loop()

    assert alive.beats > 3


# -- workers


def test_concurrent_starts(engine: Engine):
    """Workers that start concurrently share the row of their host."""

    def register(_: int) -> None:
        with writing(engine) as connection:
            slots._host(connection, Survey(0.1, None, "watch"))

    at_once(6, register)

    with reading(engine) as connection:
        assert connection.scalar(select(func.count()).select_from(Host)) == 1


def test_slots_of_live_workers(engine: Engine):
    """Only the slots of live workers count."""
    make_worker(engine, slots=2)
    make_worker(engine, slots=3, queues=(QUEUE, "mip"))
    silent, stopped = make_worker(engine, slots=5), make_worker(engine, slots=7)
    with writing(engine) as connection:
        connection.execute(update(Worker).where(Worker.id == silent).values(heartbeat_at=now() - 60))
        connection.execute(update(Worker).where(Worker.id == stopped).values(stopped_at=now()))

    with reading(engine) as connection:
        assert slots_of(connection) == {QUEUE: 5, "mip": 3}


def test_shard_of_a_deleted_batch(engine: Engine):
    """The shard of a deleted batch cannot be claimed."""
    (shard_id,) = make_batch(engine, puzzles=1, size=1)
    with writing(engine) as connection:
        connection.execute(delete(Batch))

    assert claim(engine, shard_id, make_worker(engine)) is None
