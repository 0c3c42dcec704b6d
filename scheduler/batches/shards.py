"""Cutting the runs of a batch into shards."""

from __future__ import annotations

import math
from collections.abc import Iterator
from typing import Any

from sqlalchemy import Connection, func, insert, select

from cagematch.models import Batch, BatchConfiguration, Shard, ShardState, StoredConfiguration
from cagematch.models.engine import insert_new
from cagematch.workers import configurations as spelled
from cagematch.workers.machine.topology import usable_cores
from cagematch.workers.queues.dispatch import slots_of
from cagematch.workers.queues.pools import queue_of

LARGEST_SHARD = 5_000  # runs
SMALLEST_SHARD = 10  # runs: one shift, if all of them reach the default timeout
SHARDS_PER_SLOT = 4


def add_to(connection: Connection, batch_id: int, configurations: list[spelled.Configuration]) -> None:
    """Add new configurations to a batch, with all their shards. The batch must not have any of them yet."""
    rows = [{"text": c.text, "expanded": spelled.expanded(c.text), "backend": c.backend} for c in configurations]
    insert_new(connection, StoredConfiguration.__table__, rows)
    texts = [c.text for c in configurations]
    ids = dict(
        connection.execute(
            select(StoredConfiguration.text, StoredConfiguration.id).where(StoredConfiguration.text.in_(texts))
        ).all()
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
    """Cut the runs of each configuration for the slots that can run them."""
    puzzles, repeats = connection.execute(select(Batch.puzzles, Batch.repeats).where(Batch.id == batch_id)).one()
    each = puzzles * repeats
    slots = slots_of(connection)
    rows = []
    for c in configurations:
        queue = queue_of(c.backend)
        rows += [
            {
                "batch_id": batch_id,
                "configuration_id": ids[c.text],
                "queue": queue,
                "state": ShardState.WAITING,
                "start": start,
                "stop": stop,
                "position": start,
                "claimed_at_position": start,
                "attempts": 0,
            }
            for start, stop in cuts(each, slots.get(queue, len(usable_cores())))
        ]
    return rows


def cuts(runs: int, slots: int) -> Iterator[tuple[int, int]]:
    """Yield the bounds of the shards: large shards first, because each has a fixed cost, and smaller ones at the end.

    No shard is larger than half of a slot's share of the remaining runs, so that all slots finish at about the same
    time.

    Yields
    ------
    tuple of int
        The first run of the shard, and the one after its last.

    Source
    ------
    "Guided self-scheduling": Polychronopoulos and Kuck, doi 10.1109/TC.1987.5009495.
    """
    start = 0
    largest = min(LARGEST_SHARD, math.ceil(runs / (SHARDS_PER_SLOT * slots)))
    smallest = min(SMALLEST_SHARD, largest)  # few runs on many slots: each slot gets some
    while start < runs:
        share = math.ceil((runs - start) / (2 * slots))
        stop = min(runs, start + max(smallest, min(largest, share)))
        yield start, stop
        start = stop
