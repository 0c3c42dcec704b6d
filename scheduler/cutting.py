"""The runs of a batch, cut into shards."""

from __future__ import annotations

import math
from typing import Any

from sqlalchemy import Connection, func, insert, select

from models import Batch, BatchConfiguration, Configuration, Shard, ShardState
from models.engine import insert_new
from workers import configurations as spelled
from workers.cores import usable_cores
from workers.pools import queue_of
from workers.queueing import slots_of

LARGEST_SHARD = 500
SHARDS_PER_SLOT = 4


def add_to(connection: Connection, batch_id: int, configurations: list[spelled.Configuration]) -> None:
    """Give a batch configurations that it does not have yet, with all their shards."""
    rows = [{"text": c.text, "expanded": spelled.expanded(c.text), "backend": c.backend} for c in configurations]
    insert_new(connection, Configuration.__table__, rows)
    texts = [c.text for c in configurations]
    ids = dict(
        connection.execute(select(Configuration.text, Configuration.id).where(Configuration.text.in_(texts))).all()
    )
    first = connection.scalar(
        select(func.count()).select_from(BatchConfiguration).where(BatchConfiguration.batch_id == batch_id)
    )
    connection.execute(
        insert(BatchConfiguration),
        [
            {"batch_id": batch_id, "configuration_id": ids[text], "position": (first or 0) + at}
            for at, text in enumerate(texts)
        ],
    )
    connection.execute(insert(Shard), _shards(connection, batch_id, configurations, ids))


def _shards(
    connection: Connection, batch_id: int, configurations: list[spelled.Configuration], ids: dict[str, int]
) -> list[dict[str, Any]]:
    """Cut each configuration's runs: small enough that the last shard is no long tail, of at most LARGEST_SHARD."""
    puzzles, repeats = connection.execute(select(Batch.puzzles, Batch.repeats).where(Batch.id == batch_id)).one()
    each = puzzles * repeats
    slots = slots_of(connection)
    rows = []
    for c in configurations:
        queue = queue_of(c.backend)
        parallel = SHARDS_PER_SLOT * slots.get(queue, len(usable_cores()))
        size = max(1, min(LARGEST_SHARD, math.ceil(each / parallel)))
        rows += [
            {
                "batch_id": batch_id,
                "configuration_id": ids[c.text],
                "queue": queue,
                "state": ShardState.WAITING,
                "start": start,
                "stop": min(start + size, each),
                "position": start,
                "claimed_at_position": start,
                "attempts": 0,
            }
            for start in range(0, each, size)
        ]
    return rows
