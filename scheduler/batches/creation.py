"""Making batches, finding them again, cancelling and resuming them."""

from __future__ import annotations

import platform
import random
from dataclasses import dataclass
from typing import Any

from sqlalchemy import Connection, Engine, case, func, insert, select, update

from cagematch import __version__
from cagematch.models import (
    Batch,
    BatchConfiguration,
    BatchPuzzle,
    BatchSet,
    BatchState,
    SetEntry,
    Shard,
    ShardState,
    StoredConfiguration,
)
from cagematch.models.base import now
from cagematch.models.engine import reading, writing
from cagematch.problems.errors import InputError, LookupFailed
from cagematch.problems.outcome import SOLVING, Asked, Task
from cagematch.scheduler.batches.shards import add_to
from cagematch.workers import configurations as spelled
from cagematch.workers.queues.dispatch import slots_of
from cagematch.workers.queues.pools import queue_of
from cagematch.workers.shards.leases import UNFINISHED, close_batch

LONGEST_NAME = 200
MOST_DIGITS = 10  # a number has fewer: databases count batches in 32 bits
NAMED = 5  # names that a message lists
DECIDING = 0x0CA6E  # what PostgreSQL knows that lock by, beside the batch's number


@dataclass(frozen=True, slots=True)
class Plan:
    """What a batch is to measure. ``limit``: puzzles taken from each set, None for all of them.

    ``again``: the batch that this one repeats, with its very puzzles in their order.
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


def require_free(engine: Engine, name: str) -> None:
    """Raise InputError where a batch cannot be called that."""
    if not name.strip() or _number(name) is not None:
        raise InputError(f"a batch cannot be called {name!r}: expected a word; numbers are numbers of batches")
    if not name.isprintable():
        raise InputError(f"a batch cannot be called {name!r}: a name goes to terminals, and that would steer them")
    if len(name) > LONGEST_NAME:
        raise InputError(f"a batch's name of {len(name)} characters is too long, expected {LONGEST_NAME} at most")
    with reading(engine) as connection:
        taken = connection.scalar(select(Batch.id).where(Batch.name == name))
    if taken:
        raise InputError(f"batch {taken} is called {name!r} already; a name is given once")


def create(engine: Engine, plan: Plan) -> int:
    """Store a batch with its shuffled puzzles and its shards, all at once; nothing is sent yet."""
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
    """What a batch measured, to be measured again. Raises ConfigurationError for what is known no longer."""
    sets = select(BatchSet.set_id).where(BatchSet.batch_id == batch_id).order_by(BatchSet.position)
    with reading(engine) as connection:
        batch = connection.execute(select(Batch.__table__).where(Batch.id == batch_id)).one()
        texts = connection.scalars(_texts(batch_id).order_by(BatchConfiguration.position)).all()
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


def free_name(engine: Engine, name: str) -> str:
    """The name, or with a number behind it where it is taken."""
    with reading(engine) as connection:
        taken = set(connection.scalars(select(Batch.name).where(Batch.name.startswith(name, autoescape=True))))
    names = (name, *(f"{name}-{number}" for number in range(2, len(taken) + 3)))
    return next(each for each in names if each not in taken)


def add_configurations(engine: Engine, batch_id: int, configurations: list[spelled.Configuration]) -> int:
    """Give a batch the configurations that it does not have yet; return how many those were."""
    with writing(engine) as connection:
        _decide_alone(connection, batch_id)
        known = set(connection.scalars(_texts(batch_id)))
        new = [c for c in configurations if c.text not in known]
        if new:
            add_to(connection, batch_id, new)
            connection.execute(
                update(Batch).where(Batch.id == batch_id).values(state=BatchState.ACTIVE, finished_at=None)
            )
    return len(new)


def cancel(engine: Engine, batch_id: int) -> int:
    """Drop what is not done, at once; what is running is killed, and its result does not count.

    Returns how many runs were dropped. Cancelling twice drops nothing more.
    """
    void = {"state": ShardState.CANCELLED, "lease_token": None, "lease_owner": None}
    with writing(engine) as connection:
        _decide_alone(connection, batch_id)
        dropped = update(Shard).where(_open(batch_id)).values(void).returning(Shard.stop - Shard.position)
        left = sum(connection.scalars(dropped))
        connection.execute(
            update(Batch)
            .where(Batch.id == batch_id, Batch.state == BatchState.ACTIVE)
            .values(state=BatchState.CANCELLED, finished_at=now())
        )
    return left


def resume(engine: Engine, batch_id: int, *, alone: bool) -> int:
    """Let a cancelled or interrupted batch go on; return how many runs are left.

    ``alone``: no other process works on the database, so leases and messages of earlier ones are void.
    """
    void = [ShardState.CANCELLED, *([ShardState.LEASED, ShardState.QUEUED] if alone else [])]
    with writing(engine) as connection:
        _decide_alone(connection, batch_id)
        connection.execute(
            update(Shard)
            .where(Shard.batch_id == batch_id, Shard.state.in_(void))
            .values(state=ShardState.WAITING, lease_token=None, lease_owner=None, lease_expires_at=None)
        )
        # From here on no worker closes it, and what is left is looked at afterwards.
        connection.execute(select(Batch.id).where(Batch.id == batch_id).with_for_update(key_share=True))
        left = connection.scalar(select(func.sum(Shard.stop - Shard.position)).where(_open(batch_id)))
        if left:
            connection.execute(
                update(Batch).where(Batch.id == batch_id).values(state=BatchState.ACTIVE, finished_at=None)
            )
        else:
            close_batch(connection, batch_id)
    return int(left or 0)


def _decide_alone(connection: Connection, batch_id: int) -> None:
    """Let no other command cancel or resume the batch until the transaction ends; on SQLite nobody could anyway.

    Workers lock a shard and then its batch: to lock the batch first would be to wait for each other.
    """
    if connection.dialect.name == "postgresql":
        connection.execute(select(func.pg_advisory_xact_lock(DECIDING, batch_id)))


def find_batch(engine: Engine, word: str | None) -> int:
    """A batch by number, name, or start of its name; without a word, the newest."""
    with reading(engine) as connection:
        if word is None:
            newest = connection.scalar(select(func.max(Batch.id)))
            if newest is None:
                raise LookupFailed("there is no batch yet; `scheduler submit hard` makes one")
            return int(newest)
        number = _number(word)
        if number is not None and connection.scalar(select(Batch.id).where(Batch.id == number)):
            return number
        exact = case((Batch.name == word, 0), else_=1)
        found = connection.execute(
            select(Batch.id, Batch.name).where(Batch.name.startswith(word, autoescape=True)).order_by(exact, Batch.id)
        ).all()
    if not found:
        raise LookupFailed(f"there is no batch {word!r}; `scheduler status` lists them")
    if len(found) > 1 and found[0].name != word:
        more = ", …" if len(found) > NAMED else ""
        raise LookupFailed(f"{word!r} could be {', '.join(str(name) for _, name in found[:NAMED])}{more}")
    return int(found[0].id)


def unserved(engine: Engine, backends: list[str]) -> list[str]:
    """Those of the backends that no live worker serves."""
    with reading(engine) as connection:
        slots = slots_of(connection)
    return [backend for backend in dict.fromkeys(backends) if queue_of(backend) not in slots]


def _number(word: str) -> int | None:
    return int(word) if word.isascii() and word.isdigit() and len(word) < MOST_DIGITS else None


def _open(batch_id: int) -> Any:
    return (Shard.batch_id == batch_id) & Shard.state.in_(UNFINISHED)


def _texts(batch_id: int) -> Any:
    return (
        select(StoredConfiguration.text)
        .join(BatchConfiguration, BatchConfiguration.configuration_id == StoredConfiguration.id)
        .where(BatchConfiguration.batch_id == batch_id)
    )


def _order_of(connection: Connection, batch_id: int) -> list[int]:
    query = select(BatchPuzzle.puzzle_id).where(BatchPuzzle.batch_id == batch_id).order_by(BatchPuzzle.position)
    return list(connection.scalars(query))


def _puzzles(connection: Connection, plan: Plan) -> list[int]:
    """The distinct puzzles of the plan's sets, shuffled by its seed."""
    found: dict[int, None] = {}
    for set_id in plan.sets:
        query = select(SetEntry.puzzle_id).where(SetEntry.set_id == set_id).order_by(SetEntry.position)
        distinct = dict.fromkeys(connection.scalars(query))
        found |= dict.fromkeys(list(distinct)[: plan.limit])
    puzzles = list(found)
    random.Random(plan.seed).shuffle(puzzles)
    return puzzles
