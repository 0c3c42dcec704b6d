"""Plain Celery: one message, INSERT and commit per run in prefork workers, without checks, limits or retries.

``python -m benchmarks.plain_celery CONFIG SET REPEATS``; its worker is
``celery -A benchmarks.plain_celery worker --pool prefork`` with CAGEMATCH_BROKER_URL and CAGEMATCH_DATABASE_URL.
"""

from __future__ import annotations

import os
import subprocess
import sys
import time
from collections.abc import Iterator
from contextlib import contextmanager
from functools import cache
from pathlib import Path
from tempfile import TemporaryDirectory

import psycopg
from celery import Celery, signals

from benchmarks.bare import KIND, LIMIT_S, texts
from benchmarks.harness.services import Services, find_services
from benchmarks.pipeline import POLL_S, START_S, environment
from cagematch.workers.configurations import configuration
from cagematch.workers.machine.topology import usable_cores
from cagematch.workers.sandbox.solving import measure, problem_of

TABLE = "CREATE TABLE plain (configuration text, puzzle text, repeat int, answer text, solution text, began float, \
wall_s float, stored float)"
INSERT = "INSERT INTO plain VALUES (%s, %s, %s, %s, %s, %s, %s, extract(epoch from clock_timestamp()))"
WARM_UP = "cp-min-size"
READY = "ready"  # The file that a worker creates when it is ready.

app = Celery("plain", broker=os.environ.get("CAGEMATCH_BROKER_URL"))
app.conf.task_ignore_result = True
_configuration = cache(configuration)


@cache
def _database() -> psycopg.Connection[tuple[float, ...]]:
    return _connect(os.environ["CAGEMATCH_DATABASE_URL"])


def _connect(url: str) -> psycopg.Connection[tuple[float, ...]]:
    return psycopg.connect(url.replace("+psycopg", ""))


@signals.worker_process_init.connect  # type: ignore[untyped-decorator]
def _warm_up(**_: object) -> None:
    """Import the libraries before the first message, as start-up is not part of the figure."""
    measure(_configuration(WARM_UP), problem_of(KIND, texts("easy")[0]), 0, LIMIT_S)
    _database()


@signals.worker_ready.connect  # type: ignore[untyped-decorator]
def _ready(**_: object) -> None:
    Path(READY).touch()


@app.task(name="plain.solve")  # type: ignore[untyped-decorator]
def solve(word: str, text: str, repeat: int) -> None:
    began = time.time()
    measured = measure(_configuration(word), problem_of(KIND, text), repeat, LIMIT_S)
    solution = "".join(map(str, measured.assignment or ()))
    _database().execute(INSERT, (word, text, repeat, measured.answer, solution, began, measured.wall_s))
    _database().commit()


def rate(services: Services, word: str, name: str, repeats: int) -> float:
    """Return runs per second from the first run's start to the last commit.

    Raises
    ------
    RuntimeError
        The worker does not start, or ends before the last run.
    """
    puzzles = texts(name)
    with TemporaryDirectory() as folder, services.fresh(), _connect(services.database) as connection:
        connection.autocommit = True
        connection.execute(TABLE)
        with _worker(folder, services) as worker:
            app.conf.broker_url = services.broker
            for repeat in range(repeats):
                for text in puzzles:
                    solve.delay(word, text, repeat)
            runs = repeats * len(puzzles)
            while connection.execute("SELECT count(*) FROM plain").fetchone() != (runs,):
                if worker.poll() is not None:
                    raise RuntimeError(f"the worker ended with exit code {worker.returncode} before the last run")
                time.sleep(POLL_S)
        span = connection.execute("SELECT max(stored) - min(began) FROM plain").fetchone()
    return runs / span[0] if span else 0.0


@contextmanager
def _worker(folder: str, services: Services) -> Iterator[subprocess.Popen[bytes]]:
    command = [sys.executable, "-m", "celery", "-A", "benchmarks.plain_celery", "worker", "--pool", "prefork"]
    command += ["--concurrency", str(len(usable_cores())), "--without-gossip", "--without-mingle", "-l", "WARNING"]
    with Path(folder, "worker.log").open("w") as log:
        process = subprocess.Popen(
            command, cwd=folder, env=environment(folder, services.environment), stdout=log, stderr=log
        )
        try:
            _wait_for(Path(folder, READY), process)
            yield process
        finally:
            process.terminate()
            process.wait(timeout=START_S)


def _wait_for(ready: Path, process: subprocess.Popen[bytes]) -> None:
    deadline = time.monotonic() + START_S
    while not ready.exists():
        if time.monotonic() > deadline or process.poll() is not None:
            raise RuntimeError(f"the worker did not start within {START_S:g} s")
        time.sleep(0.1)


if __name__ == "__main__":
    found = find_services()
    if found is None:
        raise SystemExit("Redis or PostgreSQL does not answer")
    print(f"{rate(found, sys.argv[1], sys.argv[2], int(sys.argv[3])):.2f} runs/s")
