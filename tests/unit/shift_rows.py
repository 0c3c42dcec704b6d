"""Hosts, workers and shifts in a database, for the tests of disturbances."""

from __future__ import annotations

from typing import Any

from sqlalchemy import Engine, insert

from cagematch.models import Base, Batch, BatchState, Host, Run, Shift, StoredConfiguration, StoredPuzzle, Worker
from cagematch.models.engine import writing

HERE = {"processor": "Z80", "cores": 2, "host_threads": 2, "memory_mib": 64}
QUIET = {"seconds": 30.0, "steal": 0.0, "pressure": 0.05, "load": 2.0, "oversubscribed": False, "reference_s": 0.003}


def fill(engine: Engine, batches: int = 1) -> None:
    """Store two hosts with a worker each, two configurations, and batches of eight puzzles without runs."""
    Base.metadata.create_all(engine)
    worker: dict[str, Any] = {"pid": 1, "program": "1", "queues": [], "versions": {}, "slots": 2, "schema": "1"}
    worker |= {"reference_s": 0.003, "started_at": 0.0, "heartbeat_at": 0.0}
    batch = {"state": BatchState.DONE, "task": "solve", "timeout_s": 3.0, "memory_mib": 512, "repeats": 1}
    batch |= {"seed": 0, "puzzles": 8, "versions": {}, "created_at": 0.0}
    with writing(engine) as connection:
        connection.execute(
            insert(Host), [{"id": i, "name": n, "digest": n, "facts": HERE} for i, n in ((1, "a"), (2, "b"))]
        )
        connection.execute(insert(Worker), [worker | {"id": i, "host_id": i} for i in (1, 2)])
        connection.execute(
            insert(StoredConfiguration),
            [{"id": i, "text": t, "expanded": t, "backend": t} for i, t in ((1, "scip"), (2, "cbc"))],
        )
        connection.execute(insert(Batch), [batch | {"id": number} for number in range(1, batches + 1)])
        puzzles = [{"id": i, "kind": "queens", "text": str(i), "fingerprint": bytes([i] * 32)} for i in range(1, 9)]
        connection.execute(insert(StoredPuzzle), puzzles)


def shift(
    engine: Engine,
    number: int,
    worker: int = 1,
    configuration: int = 1,
    threads: int = 1,
    cores: str = "0",
    cpu_s: float | None = 0.8,
    probes: tuple[float | None, float | None] = (0.003, 0.003),
    wall_s: float = 1.0,
    batch: int = 1,
    **columns: Any,
) -> None:
    """Store a shift with two runs. ``probes``: the core speed probe of each run, in seconds."""
    run = {
        "batch_id": batch,
        "configuration_id": configuration,
        "repeat": 0,
        "seed": 0,
        "answer": "none",
        "worker_id": worker,
    }
    run |= {
        "stop": "finished",
        "wall_s": wall_s,
        "cpu_s": cpu_s,
        "detail": "",
        "threads": threads,
        "cores": cores,
        "finished_at": 0.0,
    }
    row = {"id": number, "batch_id": batch, "worker_id": worker, "began_at": 0.0}
    with writing(engine) as connection:
        connection.execute(insert(Shift).values(row | QUIET | columns))
        runs = [
            run | {"puzzle_id": 2 * number - at, "shift_id": number, "reference_s": probe}
            for at, probe in enumerate(probes)
        ]
        connection.execute(insert(Run), runs)
