"""A shift with a real keeper: what it stores, and its state after an early end."""

from __future__ import annotations

import os
import signal
import threading
import time
from collections import Counter
from collections.abc import Callable, Iterable, Iterator
from pathlib import Path
from typing import Any

import pytest
from celery import Celery
from sqlalchemy import Engine, insert, select, update

from cagematch.models import (
    Base,
    Batch,
    BatchConfiguration,
    BatchPuzzle,
    BatchState,
    Host,
    Run,
    Shard,
    ShardState,
    StoredConfiguration,
    StoredPuzzle,
    Worker,
)
from cagematch.models import Shift as ShiftRow
from cagematch.models.base import now
from cagematch.models.engine import open_engine, reading, writing
from cagematch.problems.outcome import Answer, Stop
from cagematch.workers.connections import Connections
from cagematch.workers.keeper.client import KeeperClient
from cagematch.workers.messages.protocol import BatchSettings, RunAnswer, RunRequest
from cagematch.workers.service.app import make_app
from cagematch.workers.shards import shifts
from cagematch.workers.shards.shifts import ATTEMPTS, work_on
from cagematch.workers.shards.spool import Spool

PUZZLES = ["12...4....3...2.", ".1...4....3...2.", "12...4....3.....", "12..........34..", "1.........3...2."]
REPEATS = 4
RUNS = len(PUZZLES) * REPEATS
SEED = 7
QUEUE = "other"
Hook = Callable[["Watched", int], None]


class Watched(KeeperClient):
    """A client of a real keeper that calls a hook with each answer's number, and records the size of each submission.

    ``unanswered``: the number of earlier runs without an answer at each submission.
    """

    def __init__(self, hook: Hook) -> None:
        super().__init__()
        self._hook, self._answered = hook, 0
        self.submitted: list[int] = []
        self.unanswered: list[int] = []

    def submit(self, runs: Iterable[RunRequest], settings: BatchSettings) -> None:
        requests = list(runs)
        self.unanswered.append(sum(self.submitted) - self._answered)
        self.submitted.append(len(requests))
        super().submit(requests, settings)

    def answers(self, within_s: float) -> Iterator[RunAnswer]:
        for answer in super().answers(within_s):
            self._answered += 1
            self._hook(self, self._answered)
            yield answer


class Slots:
    """The state that the slots of a worker share, with one slot."""

    def __init__(self, engine: Engine, app: Celery) -> None:
        self.engine, self.app = engine, app
        self.stopping = threading.Event()
        self.worker_id = 1
        self.spool = Spool(engine.url)
        self.hook: Hook = lambda _, __: None
        self.keepers: list[Watched] = []
        self._keeper: Watched | None = None

    def keeper(self) -> Watched:
        if self._keeper is None:
            self._keeper = Watched(self.hook)
            self.keepers.append(self._keeper)
        return self._keeper

    def drop_keeper(self) -> None:
        if self._keeper is not None:
            self._keeper.close()
            self._keeper = None


@pytest.fixture
def slots(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Iterator[Slots]:
    monkeypatch.setenv("CAGEMATCH_LOCKS", str(tmp_path / "locks"))
    monkeypatch.setenv("CAGEMATCH_SPOOL", str(tmp_path / "spool"))
    url = f"sqlite:///{tmp_path}/scheduler.db"
    engine = open_engine(url)
    Base.metadata.create_all(engine)
    shared = Slots(engine, make_app(Connections(url, "memory://", "test"), only_batch=0))
    with shared.app.connection_for_write() as connection:
        connection.default_channel.queue_declare(queue=QUEUE)
        connection.default_channel.queue_purge(QUEUE)
    yield shared
    shared.drop_keeper()
    engine.dispose()


def make_batch(engine: Engine, *states: ShardState) -> None:
    """Store twenty runs with one shard per state; the numbers of shard and batch start at 1."""
    puzzle_rows = [
        {"id": at, "kind": "sudoku", "text": text, "fingerprint": at.to_bytes(32, "big")}
        for at, text in enumerate(PUZZLES, 1)
    ]
    batch = {"id": 1, "state": BatchState.ACTIVE, "task": "solve", "timeout_s": 2.0, "memory_mib": 512}
    batch |= {"repeats": REPEATS, "seed": SEED, "puzzles": len(PUZZLES), "versions": {}, "created_at": 0.0}
    worker = {"id": 1, "host_id": 1, "pid": 1, "program": "0", "queues": [QUEUE], "versions": {}, "slots": 1}
    worker |= {"schema": "0", "reference_s": 0.1, "started_at": 0.0, "heartbeat_at": now()}
    size = RUNS // len(states)
    with writing(engine) as connection:
        connection.execute(insert(StoredPuzzle), puzzle_rows)
        connection.execute(
            insert(StoredConfiguration).values(id=1, text="backtracking", expanded="", backend="backtracking")
        )
        connection.execute(insert(Batch).values(**batch))
        order = [{"batch_id": 1, "position": at, "puzzle_id": len(PUZZLES) - at} for at in range(len(PUZZLES))]
        connection.execute(insert(BatchPuzzle), order)
        connection.execute(insert(BatchConfiguration).values(batch_id=1, configuration_id=1, position=0))
        connection.execute(insert(Host).values(id=1, name="here", digest="here", facts={}))
        connection.execute(insert(Worker).values(**worker))
        for at, state in enumerate(states):
            span = {"start": at * size, "stop": (at + 1) * size, "position": at * size}
            values = {"batch_id": 1, "configuration_id": 1, "queue": QUEUE, "state": state, "sent_at": 0.0}
            connection.execute(insert(Shard).values(**values, **span, claimed_at_position=at * size))


def runs(engine: Engine) -> list[Any]:
    with reading(engine) as connection:
        return list(connection.execute(select(Run.__table__).order_by(Run.id)))


def indices(engine: Engine) -> list[int]:
    """Return the index of every run within its configuration, in the order of storage."""
    return [run.repeat * len(PUZZLES) + len(PUZZLES) - run.puzzle_id for run in runs(engine)]


def shard(engine: Engine, number: int = 1) -> Any:
    with reading(engine) as connection:
        return connection.execute(select(Shard.__table__).where(Shard.id == number)).one()


def set_shard(engine: Engine, **values: Any) -> None:
    with writing(engine) as connection:
        connection.execute(update(Shard).where(Shard.id == 1).values(**values))


def messages(app: Celery) -> int:
    with app.connection_for_write() as connection:
        return int(connection.default_channel.queue_declare(queue=QUEUE).message_count)


def at_answer(place: int, do: Callable[[Watched], None]) -> Hook:
    return lambda keeper, answered: do(keeper) if answered == place else None


def test_runs_are_stored_in_their_order(slots: Slots):
    """Each run has its puzzle, repeat and seed."""
    make_batch(slots.engine, ShardState.QUEUED)

    work_on(1, slots)

    assert indices(slots.engine) == list(range(RUNS))
    assert all(
        (run.seed, run.stop, run.answer) == (SEED + run.repeat, Stop.FINISHED, Answer.SOLUTION)
        for run in runs(slots.engine)
        if run.answer is not Answer.NONE
    )
    assert (shard(slots.engine).position, shard(slots.engine).state) == (RUNS, ShardState.DONE)


def test_a_finished_shard_sends_the_next(slots: Slots):
    """A shift stores the runs of its own shard only."""
    make_batch(slots.engine, ShardState.QUEUED, ShardState.WAITING)

    work_on(1, slots)

    assert indices(slots.engine) == list(range(RUNS // 2))
    assert shard(slots.engine, 2).state is ShardState.QUEUED
    assert messages(slots.app) == 1


def test_submissions_grow_after_the_first_run(slots: Slots):
    """One run is submitted first; then the time per run is known."""
    make_batch(slots.engine, ShardState.QUEUED)

    work_on(1, slots)

    submitted = slots.keepers[0].submitted
    assert submitted[0] == 1
    assert max(submitted) > 1
    assert sum(submitted) == RUNS


def test_on_shared_cores_worker_and_solves_take_turns(slots: Slots):
    make_batch(slots.engine, ShardState.QUEUED)
    everywhere, places = os.sched_getaffinity(0), list[set[int]]()
    slots.hook = lambda _, __: places.append(os.sched_getaffinity(0))

    work_on(1, slots)

    assert set(slots.keepers[0].unanswered) == {0}
    (leased,) = {run.cores for run in runs(slots.engine)}
    assert places == [{int(leased)}] * RUNS
    assert os.sched_getaffinity(0) == everywhere


def test_with_its_own_cores_a_worker_runs_concurrently(slots: Slots, monkeypatch: pytest.MonkeyPatch):
    """Worker and solves do not take turns, and the worker keeps its cores."""
    everywhere = os.sched_getaffinity(0)
    first, *others = sorted(everywhere)
    if not others:
        pytest.skip("one core only")
    make_batch(slots.engine, ShardState.QUEUED)
    monkeypatch.setenv("CAGEMATCH_CORES", str(first))
    places = list[set[int]]()
    slots.hook = lambda _, __: places.append(os.sched_getaffinity(0))
    os.sched_setaffinity(0, others)
    try:
        work_on(1, slots)
    finally:
        os.sched_setaffinity(0, everywhere)

    assert {run.cores for run in runs(slots.engine)} == {str(first)}
    assert places == [set(others)] * RUNS
    assert not slots.keepers[0].in_turns


def test_a_lost_lease_stores_nothing_and_kills_runs(slots: Slots, monkeypatch: pytest.MonkeyPatch):
    monkeypatch.setattr(shifts, "FLUSH_S", 0.0)
    make_batch(slots.engine, ShardState.QUEUED)
    slots.hook = at_answer(1, lambda _: set_shard(slots.engine, lease_token="another worker's"))

    work_on(1, slots)

    assert runs(slots.engine) == []
    assert (shard(slots.engine).lease_token, shard(slots.engine).state) == ("another worker's", ShardState.LEASED)
    assert messages(slots.app) == 0


def test_remaining_runs_return_to_the_queue(slots: Slots, monkeypatch: pytest.MonkeyPatch):
    """After the time of a shift, its remaining runs return to the queue, and another shift resumes them."""
    monkeypatch.setattr(shifts, "SHIFT_S", 1.0)
    make_batch(slots.engine, ShardState.QUEUED)
    slots.hook = at_answer(2, lambda _: time.sleep(1.0))

    work_on(1, slots)
    left = shard(slots.engine)
    work_on(1, slots)

    assert 0 < left.position < RUNS
    assert (left.state, left.attempts, left.lease_token) == (ShardState.QUEUED, 0, None)
    assert messages(slots.app) == 1
    assert indices(slots.engine) == list(range(RUNS))
    assert len(slots.keepers) == 1


def test_a_retried_shard_marks_each_run(slots: Slots):
    """After a lost attempt, runs are submitted one at a time, and each is marked first."""
    make_batch(slots.engine, ShardState.QUEUED)
    set_shard(slots.engine, attempts=1)
    marks: list[tuple[int, int]] = []
    slots.hook = lambda _, __: marks.append((shard(slots.engine).marked, shard(slots.engine).position))

    work_on(1, slots)

    assert slots.keepers[0].submitted == [1] * RUNS
    assert marks == [(at, at) for at in range(RUNS)]
    assert indices(slots.engine) == list(range(RUNS))


def test_a_run_that_kills_workers_is_an_error(slots: Slots):
    """The other runs of the shard are solved."""
    make_batch(slots.engine, ShardState.QUEUED)
    set_shard(slots.engine, attempts=ATTEMPTS)

    work_on(1, slots)

    first, *others = runs(slots.engine)
    assert (first.stop, first.answer) == (Stop.ERROR, Answer.UNKNOWN)
    assert "3 workers in a row" in first.detail
    assert {run.stop for run in others} == {Stop.FINISHED}
    assert len(others) == RUNS - 1


def test_a_killed_keeper_loses_and_duplicates_no_run(slots: Slots):
    make_batch(slots.engine, ShardState.QUEUED)
    slots.hook = at_answer(3, lambda keeper: os.kill(keeper.pid, signal.SIGKILL))

    work_on(1, slots)
    left = shard(slots.engine)
    slots.hook = lambda _, __: None
    work_on(1, slots)

    assert left.state is ShardState.QUEUED
    assert messages(slots.app) == 1
    assert Counter(indices(slots.engine)) == Counter(range(RUNS))
    assert len(slots.keepers) == 2


def test_stopping_returns_the_shard_to_the_queue(slots: Slots):
    """A stop during a shift does not count as an attempt."""
    make_batch(slots.engine, ShardState.QUEUED)

    def stop(keeper: Watched) -> None:
        slots.stopping.set()
        keeper.kill()

    slots.hook = at_answer(1, stop)

    work_on(1, slots)

    left = shard(slots.engine)
    assert (left.state, left.attempts, left.lease_token) == (ShardState.QUEUED, 0, None)
    assert left.position == len(runs(slots.engine)) < RUNS


def test_no_shift_starts_after_a_stop(slots: Slots):
    make_batch(slots.engine, ShardState.QUEUED)
    slots.stopping.set()

    work_on(1, slots)

    assert slots.keepers == []
    assert shard(slots.engine).state is ShardState.QUEUED


def test_a_shift_stores_the_conditions_of_its_host(slots: Slots):
    make_batch(slots.engine, ShardState.QUEUED, ShardState.QUEUED)

    work_on(1, slots)
    work_on(2, slots)

    with reading(slots.engine) as connection:
        kept = connection.execute(select(ShiftRow.__table__).order_by(ShiftRow.id)).all()
    half = RUNS // 2
    assert [run.shift_id for run in runs(slots.engine)] == [kept[0].id] * half + [kept[1].id] * half
    assert all(row.seconds > 0 and row.load is not None for row in kept)
    for row in kept:
        probes = sorted(run.reference_s for run in runs(slots.engine) if run.shift_id == row.id)
        assert 0 < probes[0] <= row.reference_s == probes[len(probes) // 4] < 1


def test_permuted_runs_store_solutions_of_the_original_puzzles(slots: Slots):
    """Each repeat solves a different permutation."""
    make_batch(slots.engine, ShardState.QUEUED)
    with writing(slots.engine) as connection:
        connection.execute(update(Batch).values(permuted=True))

    work_on(1, slots)

    stored = runs(slots.engine)
    assert [run.holds for run in stored] == [True] * RUNS
    tried = {(run.puzzle_id, run.counters["assignments"]) for run in stored}
    assert len(tried) > len(PUZZLES)  # each repeat has its own layout
