"""Workers of their own on a broker and a database that they share."""

from __future__ import annotations

import json
import subprocess
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

import psycopg
from commanding import Scheduler, until
from sqlalchemy import make_url


@dataclass
class Fleet:
    """The command with a broker and a database that workers share, and the workers that a test started."""

    command: Scheduler
    database: str
    broker: str
    workers: list[subprocess.Popen[str]] = field(default_factory=list)

    def start(self, *pools: str, slots: int | None = None) -> subprocess.Popen[str]:
        """Start a worker; it is live only some time later."""
        words = [word for pool in pools for word in ("--pool", pool)]
        words += ["--slots", str(slots)] if slots else []
        self.workers.append(self.command.start("worker", *words, "--log-level", "WARNING"))
        return self.workers[-1]

    def wait_for_workers(self) -> None:
        """Wait until all that were started are live."""
        until(lambda: len(self.status()["workers"]) == len(self.workers))

    def status(self, *batch: str) -> dict[str, Any]:
        return json.loads(self.command("status", *batch, "--json").stdout)

    def batch(self, number: int) -> dict[str, Any]:
        """How far a batch is."""
        return self.status(str(number))["batches"][0]

    def rows(self, query: str) -> list[Any]:
        """What the database holds."""
        url = make_url(self.database).set(drivername="postgresql").render_as_string(hide_password=False)
        with psycopg.connect(url) as connection:
            return connection.execute(query).fetchall()

    def value(self, query: str) -> Any:
        return self.rows(query)[0][0]

    def wait_until_done(self, number: int = 1, within_s: float = 60.0) -> None:
        until(lambda: (number, "done") in self.rows("SELECT id, state FROM batch"), within_s)

    def solving(self) -> list[int]:
        """The solver processes, of whichever worker."""
        found = []
        for pid in self.command.processes():
            try:
                line = Path(f"/proc/{pid}/cmdline").read_bytes()
            except OSError:
                continue
            if b"cagematch.workers.sandbox" in line:
                found.append(pid)
        return found
