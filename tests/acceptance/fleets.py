"""Workers that share a broker and a database."""

from __future__ import annotations

import json
import subprocess
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

import psycopg
from commanding import Scheduler, until
from sqlalchemy import make_url

START_S = 60.0  # in which a worker starts on a busy machine


@dataclass
class Fleet:
    """The command, its broker and database, and the workers that a test started."""

    command: Scheduler
    database: str
    broker: str
    workers: list[subprocess.Popen[str]] = field(default_factory=list)

    def start(self, *pools: str, slots: int | None = None) -> subprocess.Popen[str]:
        """Start a worker; it becomes live seconds later."""
        words = [word for pool in pools for word in ("--pool", pool)]
        words += ["--slots", str(slots)] if slots else []
        self.workers.append(self.command.start("worker", *words, "--log-level", "WARNING"))
        return self.workers[-1]

    def wait_for_workers(self) -> None:
        """Wait until every started worker is live. The database is asked: a command for each poll delays the start."""
        started = {worker.pid for worker in self.workers}
        live = "SELECT pid FROM worker WHERE stopped_at IS NULL"
        until(lambda: started <= {pid for (pid,) in self.rows(live)}, START_S)
        until(lambda: len(self.status()["workers"]) == len(started))

    def status(self, *batch: str) -> dict[str, Any]:
        return json.loads(self.command("status", *batch, "--json").stdout)

    def batch(self, number: int) -> dict[str, Any]:
        """The state of a batch."""
        return self.status(str(number))["batches"][0]

    def rows(self, query: str) -> list[Any]:
        """The rows that a query returns."""
        url = make_url(self.database).set(drivername="postgresql").render_as_string(hide_password=False)
        with psycopg.connect(url) as connection:
            return connection.execute(query).fetchall()

    def value(self, query: str) -> Any:
        return self.rows(query)[0][0]

    def wait_until_done(self, number: int = 1, within_s: float = 120.0) -> None:
        until(lambda: (number, "done") in self.rows("SELECT id, state FROM batch"), within_s)

    def solving(self) -> list[int]:
        """The solver processes of all workers."""
        found = []
        for pid in self.command.processes():
            try:
                line = Path(f"/proc/{pid}/cmdline").read_bytes()
            except OSError:
                continue
            if b"cagematch.workers.sandbox" in line:
                found.append(pid)
        return found
