"""Creating batches, and planning the rerun of one."""

from __future__ import annotations

import platform
import random
from dataclasses import dataclass
from typing import Any

from sqlalchemy import Connection, Engine, insert, select

from cagematch import __version__
from cagematch.models import Batch, BatchConfiguration, BatchPuzzle, BatchSet, BatchState, SetEntry
from cagematch.models.base import now
from cagematch.models.engine import reading, writing
from cagematch.problems.outcome import SOLVING, Asked, Task
from cagematch.scheduler.batches.lookup import configuration_texts
from cagematch.scheduler.batches.shards import add_to
from cagematch.workers import configurations as spelled


@dataclass(frozen=True, slots=True)
class Plan:
    """What a batch measures.

    Parameters
    ----------
    sets
        The ids of the puzzle sets.
    timeout_s, memory_mib
        The limits of each run.
    limit
        The number of puzzles taken from each set. ``None`` takes all of them.
    again
        The id of the batch that this one repeats, with the same puzzles in the same order.
    """

    sets: list[int]
    configurations: list[spelled.Configuration]
    timeout_s: float
    memory_mib: int
    repeats: int = 1
    seed: int = 0
    limit: int | None = None
    name: str | None = None
    asked: Asked = SOLVING
    permuted: bool = False
    priority: int = 0
    again: int | None = None


def create(engine: Engine, plan: Plan) -> int:
    """Store a batch with its shuffled puzzles and its shards in one transaction. Sends no messages.

    Returns
    -------
    int
        The id of the batch.
    """
    with writing(engine) as connection:
        puzzles = _order_of(connection, plan.again) if plan.again else _puzzles(connection, plan)
        values: dict[str, Any] = {
            "name": plan.name,
            "state": BatchState.ACTIVE,
            "task": plan.asked.task.value,
            "bound": plan.asked.bound if plan.asked.task is Task.COUNT else None,
            "timeout_s": plan.timeout_s,
            "memory_mib": plan.memory_mib,
            "repeats": plan.repeats,
            "seed": plan.seed,
            "puzzles": len(puzzles),
            "taken": plan.limit,
            "permuted": plan.permuted,
            "priority": plan.priority,
            "again": plan.again,
            "versions": {"cagematch": __version__, "python": platform.python_version()},
        }
        inserted = connection.execute(insert(Batch).values(created_at=now(), **values).returning(Batch.id))
        batch_id = int(inserted.scalar_one())
        sets = [{"batch_id": batch_id, "set_id": s, "position": at} for at, s in enumerate(plan.sets)]
        connection.execute(insert(BatchSet), sets)
        order = [{"batch_id": batch_id, "position": at, "puzzle_id": p} for at, p in enumerate(puzzles)]
        connection.execute(insert(BatchPuzzle), order)
        add_to(connection, batch_id, plan.configurations)
    return batch_id


def plan_again(engine: Engine, batch_id: int) -> Plan:
    """Return the plan that repeats a batch.

    Raises
    ------
    ConfigurationError
        A configuration of the batch names a backend or a parameter that no longer exists.
    """
    sets = select(BatchSet.set_id).where(BatchSet.batch_id == batch_id).order_by(BatchSet.position)
    with reading(engine) as connection:
        batch = connection.execute(select(Batch.__table__).where(Batch.id == batch_id)).one()
        texts = connection.scalars(configuration_texts(batch_id).order_by(BatchConfiguration.position)).all()
        return Plan(
            sets=list(connection.scalars(sets)),
            configurations=[spelled.configuration(text) for text in texts],
            timeout_s=batch.timeout_s,
            memory_mib=batch.memory_mib,
            repeats=batch.repeats,
            seed=batch.seed,
            limit=batch.taken,
            asked=Asked(Task(batch.task), batch.bound or SOLVING.bound),
            permuted=batch.permuted,
            priority=batch.priority,
            again=batch_id,
        )


def _order_of(connection: Connection, batch_id: int) -> list[int]:
    query = select(BatchPuzzle.puzzle_id).where(BatchPuzzle.batch_id == batch_id).order_by(BatchPuzzle.position)
    return list(connection.scalars(query))


def _puzzles(connection: Connection, plan: Plan) -> list[int]:
    """Return the ids of the distinct puzzles of the plan's sets, shuffled by its seed."""
    found: dict[int, None] = {}
    for set_id in plan.sets:
        query = select(SetEntry.puzzle_id).where(SetEntry.set_id == set_id).order_by(SetEntry.position)
        distinct = dict.fromkeys(connection.scalars(query))
        found |= dict.fromkeys(list(distinct)[: plan.limit])
    puzzles = list(found)
    random.Random(plan.seed).shuffle(puzzles)
    return puzzles
