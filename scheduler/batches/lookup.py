"""Looking up batches, free batch names, and backends that no live worker serves."""

from __future__ import annotations

from typing import Any

from sqlalchemy import Engine, case, func, select

from cagematch.models import Batch, BatchConfiguration, StoredConfiguration
from cagematch.models.engine import reading
from cagematch.problems.errors import InputError, LookupFailed
from cagematch.workers.queues.dispatch import slots_of
from cagematch.workers.queues.pools import queue_of

LONGEST_NAME = 200  # characters
MOST_DIGITS = 10  # a batch id has fewer: databases store it in 32 bits
NAMED = 5  # names that a message lists


def find_batch(engine: Engine, word: str | None) -> int:
    """Return the id of a batch.

    Parameters
    ----------
    word
        The id of the batch, its name, or the start of its name. ``None`` selects the latest batch.

    Raises
    ------
    LookupFailed
        No batch matches, or several names start with the word.
    """
    with reading(engine) as connection:
        if word is None:
            latest = connection.scalar(select(func.max(Batch.id)))
            if latest is None:
                raise LookupFailed("there are no batches; create one with `scheduler submit hard`")
            return int(latest)
        number = _number(word)
        if number is not None and connection.scalar(select(Batch.id).where(Batch.id == number)):
            return number
        exact = case((Batch.name == word, 0), else_=1)
        found = connection.execute(
            select(Batch.id, Batch.name).where(Batch.name.startswith(word, autoescape=True)).order_by(exact, Batch.id)
        ).all()
    if not found:
        raise LookupFailed(f"there is no batch {word!r}; list the batches with `scheduler status`")
    if len(found) > 1 and found[0].name != word:
        more = ", …" if len(found) > NAMED else ""
        names = ", ".join(str(name) for _, name in found[:NAMED])
        raise LookupFailed(f"{word!r} matches {len(found)} batches: {names}{more}; expected a full name or a number")
    return int(found[0].id)


def require_free(engine: Engine, name: str) -> None:
    """Check that a new batch can have a name.

    Raises
    ------
    InputError
        The name is empty, a number, too long, not printable, or the name of another batch.
    """
    if not name.strip() or _number(name) is not None:
        raise InputError(f"found the batch name {name!r}, expected a word: a number selects a batch by its id")
    if not name.isprintable():
        raise InputError(f"the batch name {name!r} contains control characters, expected printable characters")
    if len(name) > LONGEST_NAME:
        raise InputError(f"the batch name has {len(name)} characters, expected at most {LONGEST_NAME}")
    with reading(engine) as connection:
        taken = connection.scalar(select(Batch.id).where(Batch.name == name))
    if taken:
        raise InputError(f"batch {taken} already has the name {name!r}; choose another name with --name")


def free_name(engine: Engine, name: str) -> str:
    """Return the name, or the name with the first free number appended if another batch has it."""
    with reading(engine) as connection:
        taken = set(connection.scalars(select(Batch.name).where(Batch.name.startswith(name, autoescape=True))))
    names = (name, *(f"{name}-{number}" for number in range(2, len(taken) + 3)))
    return next(each for each in names if each not in taken)


def configuration_texts(batch_id: int) -> Any:
    """Return the query for the configurations of a batch, each as typed."""
    return (
        select(StoredConfiguration.text)
        .join(BatchConfiguration, BatchConfiguration.configuration_id == StoredConfiguration.id)
        .where(BatchConfiguration.batch_id == batch_id)
    )


def unserved(engine: Engine, backends: list[str]) -> list[str]:
    """Return the given backends that no live worker serves."""
    with reading(engine) as connection:
        slots = slots_of(connection)
    return [backend for backend in dict.fromkeys(backends) if queue_of(backend) not in slots]


def _number(word: str) -> int | None:
    return int(word) if word.isascii() and word.isdigit() and len(word) < MOST_DIGITS else None
