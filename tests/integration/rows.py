"""Batches, created without the commands, and substitutes for keeper and slots without a solver."""

from __future__ import annotations

import threading
from collections.abc import Callable, Iterable, Iterator
from itertools import permutations
from typing import Any

from celery import Celery
from sqlalchemy import Connection, Engine, func, insert, select

from cagematch.models import (
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
from cagematch.models.base import now
from cagematch.models.engine import insert_new, reading, writing
from cagematch.problems.errors import SandboxError
from cagematch.problems.outcome import Answer, Stop
from cagematch.workers.connections import Connections
from cagematch.workers.messages.protocol import RunAnswer
from cagematch.workers.service.app import make_app
from cagematch.workers.shards.spool import Spool

SOLVED = "ABCDCDABBADCDCBA"  # a complete 4×4 Sudoku
TEXTS = [SOLVED.translate(str.maketrans("ABCD", "".join(digits))) for digits in permutations("1234")]
QUEUE = "other"


def make_batch(engine: Engine, *, puzzles: int, size: int, state: ShardState = ShardState.QUEUED) -> list[int]:
    """Create a batch of one configuration with ``puzzles`` runs in shards of ``size``; return the shards."""
    with writing(engine) as connection:
        ids = _make_puzzles(connection, puzzles)
        values: dict[str, Any] = {"state": BatchState.ACTIVE, "task": "solve", "timeout_s": 1.0, "memory_mib": 512}
        values |= {"repeats": 1, "seed": 0, "puzzles": puzzles, "versions": {}, "created_at": now()}
        batch = connection.execute(insert(Batch).values(**values).returning(Batch.id)).scalar_one()
        order = [{"batch_id": batch, "position": at, "puzzle_id": puzzle} for at, puzzle in enumerate(ids)]
        connection.execute(insert(BatchPuzzle), order)
        of = {"batch_id": batch, "configuration_id": _configuration(connection)}
        connection.execute(insert(BatchConfiguration).values(position=0, **of))
        shards = [
            of | {"queue": QUEUE, "state": state, "sent_at": 0.0, "start": at, "stop": min(at + size, puzzles)}
            for at in range(0, puzzles, size)
        ]
        rows = [shard | {"position": shard["start"]} for shard in shards]
        return list(connection.scalars(insert(Shard).returning(Shard.id, sort_by_parameter_order=True), rows))


def _configuration(connection: Connection) -> int:
    row = {"text": "backtracking", "expanded": "backtracking", "backend": "backtracking"}
    insert_new(connection, StoredConfiguration.__table__, [row])
    return connection.scalars(select(StoredConfiguration.id)).one()


def _make_puzzles(connection: Connection, count: int) -> list[int]:
    first = connection.scalar(select(func.count()).select_from(StoredPuzzle)) or 0
    rows = [
        {"kind": "sudoku", "text": TEXTS[at % len(TEXTS)], "fingerprint": (first + at).to_bytes(32, "big")}
        for at in range(count)
    ]
    return list(connection.scalars(insert(StoredPuzzle).returning(StoredPuzzle.id, sort_by_parameter_order=True), rows))


def make_worker(engine: Engine, *, queues: tuple[str, ...] = (QUEUE,), slots: int = 2) -> int:
    """Insert the row of a live worker."""
    with writing(engine) as connection:
        insert_new(connection, Host.__table__, [{"name": "here", "digest": "here", "facts": {}}])
        host = connection.scalars(select(Host.id)).one()
        values: dict[str, Any] = {"pid": 1, "program": "0", "versions": {}, "schema": "0001", "reference_s": 0.1}
        values |= {"host_id": host, "queues": list(queues), "slots": slots, "started_at": now(), "heartbeat_at": now()}
        return connection.execute(insert(Worker).values(**values).returning(Worker.id)).scalar_one()


def memory_app(engine: Engine) -> Celery:
    """An application with an empty broker in this process."""
    url = engine.url.render_as_string(hide_password=False)
    app = make_app(Connections(url, "memory://", "test"), only_batch=0)
    with app.connection_for_write() as connection:
        connection.default_channel.queue_declare(queue=QUEUE)
        connection.default_channel.queue_purge(QUEUE)
    return app


def messages(app: Celery) -> int:
    """The number of messages in the queue."""
    with app.connection_for_write() as connection:
        return connection.default_channel.queue_declare(queue=QUEUE).message_count


class KeeperClient:
    """Answers without a solver. ``before`` is called with the text of a puzzle before its answer."""

    in_turns, reference_s = True, 0.01

    def __init__(self, before: Callable[[str], None] = lambda _: None) -> None:
        self._before, self._jobs = before, list[Any]()

    def lease(self, _: int) -> list[int]:
        return [0]

    def release(self) -> None:
        """No core is leased."""

    def submit(self, jobs: Iterable[Any], *_: object) -> None:
        self._jobs += jobs

    def answers(self, _: float) -> Iterator[RunAnswer]:
        if self._jobs:
            job = self._jobs.pop(0)
            self._before(job.text)
            assignment = [int(digit) for digit in job.text]
            yield RunAnswer(job.number, Answer.SOLUTION, Stop.FINISHED, 0.001, assignment=assignment)

    def abort(self) -> None:
        """No run is in flight."""


class Slots:
    """The shared state of the slots, here with one keeper that the test creates."""

    def __init__(self, engine: Engine, make_keeper: Callable[[], KeeperClient] = KeeperClient) -> None:
        self.engine, self.app = engine, memory_app(engine)
        self.worker_id = make_worker(engine)
        self.spool = Spool(engine.url)
        self.stopping = threading.Event()
        self._make_keeper = make_keeper

    def keeper(self) -> KeeperClient:
        return self._make_keeper()

    def drop_keeper(self) -> None:
        """The keeper was created for one shift."""


def lose_keeper(killer: str) -> Callable[[str], None]:
    """For ``KeeperClient``: the keeper dies at that puzzle."""

    def before(text: str) -> None:
        if text == killer:
            raise SandboxError("the keeper is gone")

    return before


def runs(engine: Engine) -> list[tuple[int, str]]:
    """The puzzle and the stop of every run."""
    with reading(engine) as connection:
        return [tuple(row) for row in connection.execute(select(Run.puzzle_id, Run.stop).order_by(Run.puzzle_id))]


def shard(engine: Engine, shard_id: int) -> Any:
    """The row of a shard."""
    with reading(engine) as connection:
        return connection.execute(select(Shard.__table__).where(Shard.id == shard_id)).one()
