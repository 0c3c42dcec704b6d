"""How far a batch is: the numbers that `status`, `watch` and the progress bar show."""

from __future__ import annotations

from dataclasses import dataclass, field

from sqlalchemy import Connection, Engine, func, select

from models import Batch, BatchConfiguration, BatchState, Configuration, Run, Shard
from models.engine import reading
from problems.outcome import Answer, Stop, Verdict, Word, word


@dataclass(slots=True)
class Advance:
    """One configuration: runs stored, of how many, and how many of each word (as far as one run can tell)."""

    configuration: str
    done: int = 0
    total: int = 0
    words: dict[Word, int] = field(default_factory=dict)


@dataclass(slots=True)
class Progress:
    """A batch and its configurations, in their order."""

    batch_id: int
    name: str | None
    state: BatchState
    configurations: list[Advance]

    @property
    def over(self) -> bool:
        """Whether nothing more will come."""
        return self.state in (BatchState.DONE, BatchState.CANCELLED)

    @property
    def done(self) -> int:
        """Runs stored."""
        return sum(c.done for c in self.configurations)

    @property
    def total(self) -> int:
        """Runs in all."""
        return sum(c.total for c in self.configurations)


def progress(engine: Engine, batch_id: int) -> Progress:
    """Look a batch up."""
    with reading(engine) as connection:
        batch = connection.execute(select(Batch.name, Batch.state).where(Batch.id == batch_id)).one()
        found = _configurations(connection, batch_id)
        _count(connection, batch_id, found)
    return Progress(batch_id, batch.name, batch.state, list(found.values()))


def _configurations(connection: Connection, batch_id: int) -> dict[int, Advance]:
    totals = (
        select(Shard.configuration_id, func.sum(Shard.stop - Shard.start).label("total"))
        .where(Shard.batch_id == batch_id)
        .group_by(Shard.configuration_id)
        .subquery()
    )
    rows = connection.execute(
        select(Configuration.id, Configuration.text, totals.c.total)
        .join(BatchConfiguration, BatchConfiguration.configuration_id == Configuration.id)
        .join(totals, totals.c.configuration_id == Configuration.id)
        .where(BatchConfiguration.batch_id == batch_id)
        .order_by(BatchConfiguration.position)
    )
    return {row.id: Advance(row.text, total=int(row.total)) for row in rows}


def _count(connection: Connection, batch_id: int, found: dict[int, Advance]) -> None:
    rows = connection.execute(
        select(Run.configuration_id, Run.answer, Run.stop, Run.holds, func.count().label("runs"))
        .where(Run.batch_id == batch_id)
        .group_by(Run.configuration_id, Run.answer, Run.stop, Run.holds)
    )
    for row in rows:
        advance = found[row.configuration_id]
        advance.done += row.runs
        told = _word(row.answer, row.stop, holds=row.holds)
        advance.words[told] = advance.words.get(told, 0) + row.runs


def _word(answer: Answer, stop: Stop, *, holds: bool | None) -> Word:
    wrong = answer is Answer.SOLUTION and not holds
    return word(answer, stop, Verdict.WRONG if wrong else Verdict.UNCHECKED)
