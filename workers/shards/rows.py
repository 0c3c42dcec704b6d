"""Answers into rows of the table of runs: verified outside the timed part, stored in bulk."""

from __future__ import annotations

import json
import time
from typing import Any

import msgspec
from sqlalchemy import Connection, Engine, select, text

from cagematch.models import Run, StoredSize
from cagematch.models.engine import insert_new, writing
from cagematch.problems.outcome import Answer, Stop
from cagematch.workers.messages.protocol import RunAnswer
from cagematch.workers.shards.leases import ClaimedShard
from cagematch.workers.shards.plan import PlannedRun
from cagematch.workers.shards.verification import verify

COLUMNS = ", ".join(f'"{column.name}"' for column in Run.__table__.columns if not column.primary_key)
# One JSON document costs PostgreSQL, and the worker, less than the same rows one by one.
INSERT_DOCUMENT = text(
    f"INSERT INTO run ({COLUMNS}) SELECT {COLUMNS} "  # noqa: S608 - the columns are the table's own
    "FROM json_populate_recordset(NULL::run, CAST(:rows AS json)) "
    "ON CONFLICT DO NOTHING"
)


class RunRow(msgspec.Struct, frozen=True, kw_only=True):
    """A finished run, ready to be stored: the columns of `models.Run` except the numbers of its size and shift.

    ``size`` is the model's size as JSON; see `Sizes`. The spool holds rows in this form, also across upgrades: a new
    field needs a default.
    """

    batch_id: int
    configuration_id: int
    puzzle_id: int
    repeat: int
    seed: int
    worker_id: int
    threads: int
    cores: str
    answer: Answer
    stop: Stop
    wall_s: float
    finished_at: float
    detail: str = ""
    holds: bool | None = None
    solution: str | None = None
    verified: int | None = None
    second: str | None = None
    count: int | None = None
    complete: bool | None = None
    changes: int | None = None
    build_s: float | None = None
    solve_s: float | None = None
    cpu_s: float | None = None
    reference_s: float | None = None
    baseline_mib: float | None = None
    peak_mib: float | None = None
    signal: int | None = None
    counters: dict[str, int] | None = None
    size: str | None = None


class Recorder:
    """Turns the answers of a shard into rows. It needs no database, which may be unreachable."""

    def __init__(self, claimed: ClaimedShard, worker_id: int, cores: list[int], threads: int) -> None:
        self._claimed = claimed
        self._worker_id = worker_id
        self._threads = threads
        self._cores = ",".join(map(str, cores))

    def row(self, run: PlannedRun, answer: RunAnswer) -> RunRow:
        """Verify an answer and return its row."""
        claimed = self._claimed
        verified = verify(claimed.asked.task, run.kind, run.text, answer)
        return RunRow(
            batch_id=claimed.batch_id,
            configuration_id=claimed.configuration_id,
            puzzle_id=run.puzzle_id,
            repeat=run.repeat,
            seed=claimed.seed + run.repeat,
            worker_id=self._worker_id,
            threads=self._threads,
            cores=self._cores,
            answer=answer.answer,
            stop=answer.stop,
            wall_s=answer.wall_s,
            finished_at=time.time() + claimed.clock_s,
            detail=answer.detail.replace("\0", "\\0"),
            **msgspec.structs.asdict(verified),
            build_s=answer.build_s,
            solve_s=answer.solve_s,
            cpu_s=answer.cpu_s,
            reference_s=answer.reference_s,
            baseline_mib=answer.baseline_mib,
            peak_mib=answer.peak_mib,
            signal=answer.signal,
            counters=answer.counters or None,
            size=answer.size,
        )

    def failed(self, run: PlannedRun, detail: str) -> RunRow:
        """The row of a run that could not be measured."""
        return self.row(run, RunAnswer(0, Answer.UNKNOWN, Stop.ERROR, 0.0, detail))


class Sizes:
    """The row numbers of model sizes. Many runs share a size, so each is looked up once."""

    def __init__(self, engine: Engine) -> None:
        self._engine = engine
        self._ids: dict[str | None, int | None] = {None: None}

    def look_up(self, rows: list[RunRow]) -> None:
        """Make the numbers of all sizes in the rows known, and store new sizes.

        Call it outside the transaction that stores the runs: two such transactions would wait for each other.
        """
        for size in {row.size for row in rows} - self._ids.keys():
            self._ids[size] = self._store(size) if size is not None else None

    def id_of(self, size: str | None) -> int | None:
        """The number of a size that was looked up; None for no size."""
        return self._ids[size]

    def _store(self, size: str) -> int:
        counts = json.loads(size)
        totals = {name: sum(counts[name].values()) for name in ("variables", "constraints")}
        with writing(self._engine) as connection:
            insert_new(connection, StoredSize.__table__, [{"text": size} | totals])
            return connection.scalars(select(StoredSize.id).where(StoredSize.text == size)).one()


def store(connection: Connection, rows: list[RunRow], sizes: Sizes, shift_id: int) -> None:
    """Insert the rows of a shift; a run that is already stored stays unchanged."""
    values = [_columns(row, sizes, shift_id) for row in rows]
    if values and connection.dialect.name == "postgresql":
        connection.execute(INSERT_DOCUMENT, {"rows": msgspec.json.encode(values).decode()})
    else:
        insert_new(connection, Run.__table__, values)


def _columns(row: RunRow, sizes: Sizes, shift_id: int) -> dict[str, Any]:
    columns = msgspec.structs.asdict(row)
    columns["size_id"] = sizes.id_of(columns.pop("size"))
    columns["shift_id"] = shift_id
    return columns
