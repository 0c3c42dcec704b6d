"""The progress of a batch: the numbers that `status`, `watch` and the progress bars show."""

from __future__ import annotations

from dataclasses import dataclass, field

from sqlalchemy import Connection, Engine, case, func, select

from cagematch.models import Batch, BatchConfiguration, BatchSet, BatchState, PuzzleSet, Run, Shard, StoredConfiguration
from cagematch.models.engine import reading
from cagematch.problems.errors import first_line
from cagematch.problems.outcome import Answer, Outcome, Status, Stop, Task, status_of, verdict

OVER = (BatchState.DONE, BatchState.CANCELLED)


@dataclass(slots=True)
class ConfigurationProgress:
    """The progress of one configuration: runs done, runs in total, and runs by status.

    The statuses come from each run alone, without the evidence of other runs.
    """

    configuration: str
    done: int = 0
    total: int = 0
    statuses: dict[Status, int] = field(default_factory=dict)


@dataclass(slots=True)
class Progress:
    """The progress of a batch and of its configurations, in the order of the batch."""

    batch_id: int
    name: str | None
    sets: list[str]
    state: BatchState
    configurations: list[ConfigurationProgress]

    @property
    def over(self) -> bool:
        """Whether the batch is done or cancelled."""
        return self.state in OVER

    @property
    def done(self) -> int:
        """The number of runs stored."""
        return sum(c.done for c in self.configurations)

    @property
    def total(self) -> int:
        """The number of runs in the batch."""
        return sum(c.total for c in self.configurations)

    @property
    def statuses(self) -> dict[Status, int]:
        """The number of runs by status."""
        return self.together("").statuses

    def together(self, name: str) -> ConfigurationProgress:
        """Return the sum of all configurations, with a name of its own."""
        whole = ConfigurationProgress(name, self.done, self.total)
        for one in self.configurations:
            for status, count in one.statuses.items():
                whole.statuses[status] = whole.statuses.get(status, 0) + count
        return whole


def is_over(engine: Engine, batch_id: int) -> bool:
    """Whether a batch is done or cancelled; a cheaper query than `progress`."""
    with reading(engine) as connection:
        return connection.scalar(select(Batch.state).where(Batch.id == batch_id)) in OVER


def progress(engine: Engine, batch_id: int) -> Progress:
    """Query the progress of a batch."""
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
    """Describe the first runs that are wrong or ended with an error, at most ``most`` of them.

    Returns
    -------
    list of str
        One line per run, such as ``run 17: cp-sat: MODEL_INVALID``.
    """
    wrong = (Run.answer == Answer.SOLUTION) & Run.holds.is_not(True)
    with reading(engine) as connection:
        rows = connection.execute(
            select(Run.id, StoredConfiguration.text, Run.detail, wrong.label("wrong"))
            .join(StoredConfiguration, StoredConfiguration.id == Run.configuration_id)
            .where(Run.batch_id == batch_id, wrong | (Run.stop == Stop.ERROR))
            .order_by(Run.id)
            .limit(most)
        ).all()
    return [
        f"run {row.id}: {row.text}: {'wrong solution' if row.wrong else first_line(row.detail or 'no details')}"
        for row in rows
    ]


def _configurations(connection: Connection, batch_id: int) -> dict[int, ConfigurationProgress]:
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
    return {row.id: ConfigurationProgress(row.text, total=int(row.total)) for row in rows}


def _count(connection: Connection, batch_id: int, found: dict[int, ConfigurationProgress]) -> None:
    task = Task(connection.execute(select(Batch.task).where(Batch.id == batch_id)).scalar_one())
    several = case((Run.count > 1, 2), else_=Run.count).label("several")
    columns = (Run.configuration_id, Run.answer, Run.stop, Run.holds, several, Run.complete)
    rows = connection.execute(
        select(*columns, func.count().label("runs")).where(Run.batch_id == batch_id).group_by(*columns)
    )
    for row in rows:
        one = found[row.configuration_id]
        one.done += row.runs
        outcome = Outcome(task, row.answer, row.stop, row.holds, row.several, row.complete)
        status = status_of(outcome, verdict(outcome))
        one.statuses[status] = one.statuses.get(status, 0) + row.runs
