"""Batches, sets and runs in a real database, for the tests of reports."""

from __future__ import annotations

import io
from collections.abc import Iterator
from contextlib import contextmanager
from itertools import count
from pathlib import Path

from rich.console import Console
from sqlalchemy import Engine, insert

from cagematch.models import (
    Batch,
    BatchConfiguration,
    BatchSet,
    BatchState,
    Host,
    PuzzleSet,
    Run,
    SetEntry,
    StoredConfiguration,
    StoredPuzzle,
    Worker,
)
from cagematch.models.engine import open_engine, reading, writing
from cagematch.models.schema import upgrade
from cagematch.scheduler.reports import comparison
from cagematch.scheduler.reports.coverage import coverage
from cagematch.scheduler.reports.runs import exported
from cagematch.scheduler.reports.scope import scope
from cagematch.scheduler.reports.table import Table, show

Columns = dict[str, object]
SOLVED: Columns = {"answer": "solution", "stop": "finished", "holds": True, "verified": 1}
WRONG: Columns = {"answer": "solution", "stop": "finished", "holds": False, "verified": 0}
NONE: Columns = {"answer": "none", "stop": "finished"}
TIMEOUT: Columns = {"answer": "unknown", "stop": "timeout"}
ERROR: Columns = {"answer": "unknown", "stop": "error"}


class Bench:
    """A database with batches, sets and runs; outcomes are pairs of run columns and milliseconds by puzzle."""

    def __init__(self, engine: Engine) -> None:
        self.engine = engine
        self._numbers = count(1)
        self._configurations: dict[str, int] = {}
        with writing(engine) as connection:
            connection.execute(
                insert(Host).values(
                    id=1, name="bench", digest="d", facts={"processor": "Abacus", "cores": 2, "memory_mib": 1024}
                )
            )
            fixed = {"queues": [], "slots": 1, "schema": "1", "reference_s": 1.0, "started_at": 0, "heartbeat_at": 0}
            connection.execute(insert(Worker).values(id=1, host_id=1, pid=1, program="1.0", versions={}, **fixed))

    def set(self, name: str, puzzles: list[int], digest: str = "") -> int:
        """Store a set, and the puzzles that are new."""
        number = next(self._numbers)
        with writing(self.engine) as connection:
            known = set(connection.execute(StoredPuzzle.__table__.select()).scalars())
            for puzzle in dict.fromkeys(puzzles):
                if puzzle not in known:
                    fingerprint = bytes([puzzle]) * 32
                    connection.execute(
                        insert(StoredPuzzle).values(id=puzzle, kind="sudoku", text=str(puzzle), fingerprint=fingerprint)
                    )
            values = {"id": number, "name": name, "digest": digest or str(number), "source": name, "ready": True}
            connection.execute(insert(PuzzleSet).values(created_at=0, **values))
            entries = [
                {"set_id": number, "position": at, "puzzle_id": p, "line": 1, "label": ""}
                for at, p in enumerate(puzzles)
            ]
            connection.execute(insert(SetEntry), entries)
        return number

    def batch(self, sets: list[int], state: BatchState = BatchState.DONE, **more: object) -> int:
        """Store a batch of sets."""
        number = next(self._numbers)
        limits = {"timeout_s": 3.0, "memory_mib": 2048, "repeats": 1, "seed": 0, "puzzles": 1, "task": "solve"} | more
        with writing(self.engine) as connection:
            connection.execute(insert(Batch).values(id=number, state=state, versions={}, created_at=0, **limits))
            for at, one in enumerate(sets):
                connection.execute(insert(BatchSet).values(batch_id=number, set_id=one, position=at))
        return number

    def runs(self, batch: int, configuration: str, outcomes: dict[int, tuple[Columns, float]], repeat: int = 0) -> None:
        """Store runs by puzzle."""
        with writing(self.engine) as connection:
            if configuration not in self._configurations:
                self._configurations[configuration] = number = next(self._numbers)
                values = {"text": configuration, "expanded": configuration, "backend": configuration}
                connection.execute(insert(StoredConfiguration).values(id=number, **values))
            number = self._configurations[configuration]
            if not repeat:
                connection.execute(
                    insert(BatchConfiguration).values(batch_id=batch, configuration_id=number, position=number)
                )
            for puzzle, (columns, milliseconds) in outcomes.items():
                what = {"batch_id": batch, "configuration_id": number, "puzzle_id": puzzle, "repeat": repeat, "seed": 0}
                where = {"threads": 1, "cores": "0", "worker_id": 1, "finished_at": 0, "wall_s": milliseconds / 1000}
                connection.execute(insert(Run).values(**what, **columns, **where))

    def tables(self, *batches: int) -> list[Table]:
        """Return the tables of the comparison."""
        with reading(self.engine) as connection:
            return comparison.tables(connection, scope(connection, list(batches)))

    def exported(self, *batches: int) -> list[dict]:
        """Return the exported runs."""
        with reading(self.engine) as connection:
            return list(exported(connection, scope(connection, list(batches))))

    def covered(self, *batches: int) -> list[str]:
        """Return the coverage of the report."""
        with reading(self.engine) as connection:
            return coverage(connection, scope(connection, list(batches)))


@contextmanager
def open_bench(path: Path) -> Iterator[Bench]:
    engine = open_engine(f"sqlite:///{path}")
    upgrade(engine)
    yield Bench(engine)
    engine.dispose()


def drawn(tables: list[Table], width: int = 200) -> str:
    out = io.StringIO()
    show(tables, Console(file=out, width=width, soft_wrap=True, highlight=False))
    return "\n".join(line.rstrip() for line in out.getvalue().splitlines()) + "\n"


def rows(table: Table) -> dict[str, dict]:
    return {row["configuration"]: row for row in table.rows}
