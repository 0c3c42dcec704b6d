"""Shard leases: one holder at a time, no writes after a loss, and no run that blocks a batch."""

from __future__ import annotations

from collections import Counter

import pytest
from rows import TEXTS, KeeperClient, Slots, lose_keeper, make_batch, make_worker, runs, shard
from sqlalchemy import Engine, select, update
from test_engine import at_once

from cagematch.models import Batch, BatchState, Shard, ShardState
from cagematch.models.base import now
from cagematch.models.engine import reading, writing
from cagematch.workers.service.supervision import return_expired
from cagematch.workers.shards.leases import LEASE_S, ClaimedShard, claim, close_batch, finish, renew, return_to_queue
from cagematch.workers.shards.shifts import ATTEMPTS, work_on


def expire(engine: Engine, shard_id: int) -> None:
    """Let a lease expire, and run supervision."""
    with writing(engine) as connection:
        connection.execute(update(Shard).where(Shard.id == shard_id).values(lease_expires_at=now() - 1))
        return_expired(connection, list(connection.scalars(select(Batch.id))))


def advance(engine: Engine, claimed: ClaimedShard, position: int, **more: int) -> bool:
    with writing(engine) as connection:
        return renew(connection, claimed, position, **more)


def batch_state(engine: Engine) -> BatchState:
    with reading(engine) as connection:
        return connection.scalars(select(Batch.state)).one()


def test_eight_concurrent_claims(engine: Engine):
    """Eight concurrent claims of the same shards get different shards."""
    shards = make_batch(engine, puzzles=40, size=1)
    worker = make_worker(engine)
    got: list[int] = []

    def claim_all(_: int) -> None:
        for shard_id in shards:
            claimed = claim(engine, shard_id, worker)
            if claimed:
                got.append(claimed.shard_id)

    at_once(8, claim_all)

    assert sorted(got) == shards


def test_a_second_delivery_of_a_message_claims_nothing(engine: Engine):
    (shard_id,) = make_batch(engine, puzzles=1, size=1)
    worker = make_worker(engine)

    assert claim(engine, shard_id, worker)
    assert claim(engine, shard_id, worker) is None
    assert claim(engine, shard_id + 1, worker) is None


def test_worker_without_its_lease(engine: Engine):
    """A worker that has lost its lease cannot change the shard."""
    (shard_id,) = make_batch(engine, puzzles=4, size=4)
    worker = make_worker(engine)
    first = claim(engine, shard_id, worker)
    assert advance(engine, first, 1)
    expire(engine, shard_id)
    second = claim(engine, shard_id, worker)

    assert not advance(engine, first, 4)
    assert not return_to_queue(engine, first, lost=False)
    with writing(engine) as connection:
        finish(connection, first)

    assert shard(engine, shard_id).lease_token == second.token
    assert (shard(engine, shard_id).position, shard(engine, shard_id).state) == (1, ShardState.LEASED)
    assert second.position == 1


def test_shift_without_its_lease(engine: Engine):
    """A shift stores nothing after another worker has its lease."""
    (shard_id,) = make_batch(engine, puzzles=4, size=4)
    keeper = KeeperClient(before=lambda text: expire(engine, shard_id) if text == TEXTS[2] else None)

    work_on(shard_id, Slots(engine, lambda: keeper))

    assert runs(engine) == []
    assert shard(engine, shard_id).state is ShardState.QUEUED


def test_shift(engine: Engine):
    """A shift stores every run and closes its batch."""
    shards = make_batch(engine, puzzles=5, size=3)
    slots = Slots(engine)

    for shard_id in [*shards, *shards]:
        work_on(shard_id, slots)

    assert Counter(stop for _, stop in runs(engine)) == {"finished": 5}
    assert batch_state(engine) is BatchState.DONE


def test_suspect_shard(engine: Engine):
    """A lease lost without progress makes a shard suspect; a lease lost later does not."""
    (shard_id,) = make_batch(engine, puzzles=4, size=4)
    worker = make_worker(engine)

    for _ in range(3):  # no run had started alone, so the worker may have been lost for any reason
        claim(engine, shard_id, worker)
        expire(engine, shard_id)
        assert shard(engine, shard_id).attempts == 1
    advance(engine, claim(engine, shard_id, worker), 1)
    expire(engine, shard_id)

    assert shard(engine, shard_id).attempts == 0


def test_attempts(engine: Engine):
    """Each lease lost during a marked run counts as an attempt."""
    (shard_id,) = make_batch(engine, puzzles=4, size=4)
    worker = make_worker(engine)
    claim(engine, shard_id, worker)
    expire(engine, shard_id)

    for attempts in (2, 3):
        advance(engine, claim(engine, shard_id, worker), 0, marked=0)
        expire(engine, shard_id)
        assert shard(engine, shard_id).attempts == attempts


def test_attempts_of_the_next_run(engine: Engine):
    """The attempts of one run do not count for the next run."""
    (shard_id,) = make_batch(engine, puzzles=4, size=4)
    worker = make_worker(engine)
    for _ in range(2):
        advance(engine, claim(engine, shard_id, worker), 0, marked=0)
        expire(engine, shard_id)

    claimed = claim(engine, shard_id, worker)
    advance(engine, claimed, 1)
    advance(engine, claimed, 1, marked=1)
    expire(engine, shard_id)

    assert shard(engine, shard_id).attempts == 1


def test_renewed_lease(engine: Engine):
    """A renewed lease does not expire."""
    (shard_id,) = make_batch(engine, puzzles=4, size=4)
    claimed = claim(engine, shard_id, make_worker(engine))
    with writing(engine) as connection:
        connection.execute(update(Shard).values(lease_expires_at=now() + 0.01))

    advance(engine, claimed, 0)

    with writing(engine) as connection:
        left = connection.scalar(select(Shard.lease_expires_at - now()))
        assert return_expired(connection, [claimed.batch_id]) == []
    assert LEASE_S - 5 < left <= LEASE_S


@pytest.mark.parametrize("killer", [0, 1, 3])
def test_run_that_kills_its_keeper(engine: Engine, killer: int):
    """A run that kills its keeper each time is stored as an error, and the batch continues."""
    (shard_id,) = make_batch(engine, puzzles=4, size=4)
    slots = Slots(engine, lambda: KeeperClient(lose_keeper(TEXTS[killer])))

    shifts = 0
    while batch_state(engine) is BatchState.ACTIVE and shifts < 20:
        work_on(shard_id, slots)
        shifts += 1

    assert [stop for _, stop in runs(engine)] == ["error" if at == killer else "finished" for at in range(4)]
    # The first losses cannot be attributed to that run; the last shift stores it as an error.
    assert ATTEMPTS < shifts <= ATTEMPTS + 2


def test_run_that_kills_its_worker(engine: Engine):
    """A run that kills its worker each time is stored as an error.

    The worker is silent, so its lease expires.
    """
    shards = make_batch(engine, puzzles=2, size=1)
    worker = make_worker(engine)
    for _ in range(ATTEMPTS):
        advance(engine, claim(engine, shards[0], worker), 0, marked=0)
        expire(engine, shards[0])

    slots = Slots(engine)
    for shard_id in shards:
        work_on(shard_id, slots)

    assert [stop for _, stop in runs(engine)] == ["error", "finished"]
    assert batch_state(engine) is BatchState.DONE


def test_last_two_shards_finish_together(engine: Engine):
    """The batch is closed.

    Each transaction would see the other's shard as unfinished, unless one waits for the other.
    """
    for _ in range(10):
        shards = make_batch(engine, puzzles=4, size=1)
        claims = [claim(engine, shard_id, make_worker(engine)) for shard_id in shards]

        def end(number: int, claims: list[ClaimedShard | None] = claims) -> None:
            with writing(engine) as connection:
                renew(connection, claims[number], claims[number].stop)
                finish(connection, claims[number])

        at_once(4, end)

        with reading(engine) as connection:
            state = select(Batch.state).where(Batch.id == claims[0].batch_id)
            assert connection.scalars(state).one() is BatchState.DONE


def test_unfinished_batch_stays_open(engine: Engine):
    shards = make_batch(engine, puzzles=2, size=1)
    claimed = claim(engine, shards[0], make_worker(engine))

    with writing(engine) as connection:
        finish(connection, claimed)
        close_batch(connection, claimed.batch_id)

    assert batch_state(engine) is BatchState.ACTIVE
