"""Answers into rows: verified outside the timed part, stored in bulk."""

from __future__ import annotations

import json
import time
from typing import Any

from sqlalchemy import Connection, Engine, select, text

from cagematch.models import Run, StoredSize
from cagematch.models.engine import insert_new, writing
from cagematch.problems.outcome import Answer, Stop
from cagematch.workers.messages.framing import Message
from cagematch.workers.shards.leases import ClaimedShard, Planned
from cagematch.workers.shards.verification import checked

RunRow = dict[str, Any]
COLUMNS = ", ".join(f'"{column.name}"' for column in Run.__table__.columns if not column.primary_key)
# PostgreSQL takes one document for less than it takes as many rows one by one, in the worker and in the server.
INSERT_DOCUMENT = text(
    f"INSERT INTO run ({COLUMNS}) SELECT {COLUMNS} "  # noqa: S608 - the columns are ours
    "FROM json_populate_recordset(NULL::run, CAST(:rows AS json)) "
    "ON CONFLICT DO NOTHING"
)
COPIED = ("build_s", "solve_s", "cpu_s", "reference_s", "baseline_mib", "peak_mib", "signal")


class Recorder:
    """Turns a shard's answers into rows. It needs no database, which may be away."""

    def __init__(self, claimed: ClaimedShard, worker_id: int, cores: list[int], threads: int) -> None:
        self._claimed = claimed
        self._same = {
            "batch_id": claimed.batch_id,
            "configuration_id": claimed.configuration_id,
            "worker_id": worker_id,
            "threads": threads,
            "cores": ",".join(map(str, cores)),
        }

    def row(self, run: Planned, answer: Message) -> RunRow:
        """The row of an answer, with its size in words."""
        return (
            self._same
            | {name: answer.get(name) for name in COPIED}
            | checked(self._claimed.asked.task, run.kind, run.text, answer)
            | {
                "puzzle_id": run.puzzle_id,
                "repeat": run.repeat,
                "seed": self._claimed.seed + run.repeat,
                "answer": Answer(answer["answer"]),
                "stop": Stop(answer["stop"]),
                "wall_s": answer["wall_s"],
                "size": answer.get("size"),
                "counters": answer.get("counters") or None,
                "detail": answer.get("detail", "").replace("\0", "\\0"),
                "finished_at": time.time() + self._claimed.clock_s,
            }
        )

    def failed(self, run: Planned, detail: str) -> RunRow:
        """The row of a run that could not be measured."""
        return self.row(run, {"answer": "unknown", "stop": "error", "wall_s": 0.0, "detail": detail})


class Sizes:
    """The numbers of the sizes of problems, which many runs share; each is looked up once."""

    def __init__(self, engine: Engine) -> None:
        self._engine = engine
        self._known: dict[str | None, int | None] = {None: None}

    def numbered(self, rows: list[RunRow]) -> list[RunRow]:
        """Rows as the table has them: each size's number in place of its words."""
        return [
            {name: row[name] for name in row if name != "size"} | {"size_id": self._id(row["size"])} for row in rows
        ]

    def _id(self, told: str | None) -> int | None:
        """Not in the transaction that stores the runs: two that add the same sizes would wait for each other."""
        if told not in self._known and told is not None:
            counted = json.loads(told)
            totals = {name: sum(counted[name].values()) for name in ("variables", "constraints")}
            with writing(self._engine) as connection:
                insert_new(connection, StoredSize.__table__, [{"text": told} | totals])
                number = connection.scalars(select(StoredSize.id).where(StoredSize.text == told)).one()
            self._known[told] = number
        return self._known[told]


def store(connection: Connection, rows: list[RunRow], shift_id: int) -> None:
    """Insert the numbered rows of a shift; one that is there already stays as it is."""
    rows = [row | {"shift_id": shift_id} for row in rows]
    if rows and connection.dialect.name == "postgresql":
        connection.execute(INSERT_DOCUMENT, {"rows": json.dumps(rows)})
    else:
        insert_new(connection, Run.__table__, rows)
