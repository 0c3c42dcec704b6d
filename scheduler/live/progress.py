"""How far a batch is: the numbers that `status`, `watch` and the progress bar show."""

from __future__ import annotations

from dataclasses import dataclass, field

from sqlalchemy import Connection, Engine, case, func, select

from cagematch.models import Batch, BatchConfiguration, BatchSet, BatchState, PuzzleSet, Run, Shard, StoredConfiguration
from cagematch.models.engine import reading
from cagematch.problems.errors import first_line
from cagematch.problems.outcome import Answer, Outcome, Stop, Task, Word, verdict, word

OVER = (BatchState.DONE, BatchState.CANCELLED)


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
    sets: list[str]
    state: BatchState
    configurations: list[Advance]

    @property
    def over(self) -> bool:
        """Whether nothing more will come."""
        return self.state in OVER

    @property
    def done(self) -> int:
        """Runs stored."""
        return sum(c.done for c in self.configurations)

    @property
    def total(self) -> int:
        """Runs in all."""
        return sum(c.total for c in self.configurations)

    @property
    def words(self) -> dict[Word, int]:
        """How many runs of each word."""
        return self.together("").words

    def together(self, name: str) -> Advance:
        """All configurations together, under a name."""
        whole = Advance(name, self.done, self.total)
        for advance in self.configurations:
            for told, count in advance.words.items():
                whole.words[told] = whole.words.get(told, 0) + count
        return whole


def is_over(engine: Engine, batch_id: int) -> bool:
    """Whether nothing more will come; quicker to find out than how far the batch is."""
    with reading(engine) as connection:
        return connection.scalar(select(Batch.state).where(Batch.id == batch_id)) in OVER


def progress(engine: Engine, batch_id: int) -> Progress:
    """Look a batch up."""
    with reading(engine) as connection:
        batch = connection.execute(select(Batch.name, Batch.state).where(Batch.id == batch_id)).one()
        sets = connection.scalars(
            select(PuzzleSet.name)
            .join(BatchSet, BatchSet.set_id == PuzzleSet.id)
            .where(BatchSet.batch_id == batch_id)
            .order_by(BatchSet.position)
        ).all()
        found = _configurations(connection, batch_id)
        _count(connection, batch_id, found)
    return Progress(batch_id, batch.name, list(sets), batch.state, list(found.values()))


def failed_runs(engine: Engine, batch_id: int, most: int) -> list[str]:
    """The first runs that were wrong or failed for a reason of ours: ``run 17: cp-sat: MODEL_INVALID``."""
    lied = (Run.answer == Answer.SOLUTION) & Run.holds.is_not(True)
    with reading(engine) as connection:
        rows = connection.execute(
            select(Run.id, StoredConfiguration.text, Run.detail, lied.label("lied"))
            .join(StoredConfiguration, StoredConfiguration.id == Run.configuration_id)
            .where(Run.batch_id == batch_id, lied | (Run.stop == Stop.ERROR))
            .order_by(Run.id)
            .limit(most)
        ).all()
    return [
        f"run {row.id}: {row.text}: {'a wrong solution' if row.lied else first_line(row.detail or 'no reason given')}"
        for row in rows
    ]


def _configurations(connection: Connection, batch_id: int) -> dict[int, Advance]:
    totals = (
        select(Shard.configuration_id, func.sum(Shard.stop - Shard.start).label("total"))
        .where(Shard.batch_id == batch_id)
        .group_by(Shard.configuration_id)
        .subquery()
    )
    rows = connection.execute(
        select(StoredConfiguration.id, StoredConfiguration.text, totals.c.total)
        .join(BatchConfiguration, BatchConfiguration.configuration_id == StoredConfiguration.id)
        .join(totals, totals.c.configuration_id == StoredConfiguration.id)
        .where(BatchConfiguration.batch_id == batch_id)
        .order_by(BatchConfiguration.position)
    )
    return {row.id: Advance(row.text, total=int(row.total)) for row in rows}


def _count(connection: Connection, batch_id: int, found: dict[int, Advance]) -> None:
    task = Task(connection.execute(select(Batch.task).where(Batch.id == batch_id)).scalar_one())
    several = case((Run.count > 1, 2), else_=Run.count).label("several")
    columns = (Run.configuration_id, Run.answer, Run.stop, Run.holds, several, Run.complete)
    rows = connection.execute(
        select(*columns, func.count().label("runs")).where(Run.batch_id == batch_id).group_by(*columns)
    )
    for row in rows:
        advance = found[row.configuration_id]
        advance.done += row.runs
        outcome = Outcome(task, row.answer, row.stop, row.holds, row.several, row.complete)
        told = word(outcome, verdict(outcome))
        advance.words[told] = advance.words.get(told, 0) + row.runs
