"""The pipeline: ``scheduler submit`` as a user runs it, measured from the rows in the database.

python -m benchmarks.pipeline embedded|distributed CONFIG SET REPEATS
"""

from __future__ import annotations

import os
import subprocess
import sys
import time
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path
from tempfile import TemporaryDirectory

from sqlalchemy import Engine, create_engine, func, select

from benchmarks.harness.services import Services, find_services
from cagematch.models import Batch, BatchState, Run, Worker
from cagematch.problems.outcome import Answer

ROOT = Path(__file__).resolve().parent.parent
SCHEDULER = [sys.executable, "-c", "from cagematch.scheduler.cli import main; main()"]
START_S = 60.0  # Seconds for a worker to start or stop.
POLL_S = 1.0  # Seconds between two queries for the state of a batch.


def embedded(word: str, name: str, repeats: int) -> float:
    """Return runs per second of an embedded submit."""
    with TemporaryDirectory() as folder:
        scheduler(folder, {}, "submit", name, "-s", word, "--repeat", str(repeats))
        engine = create_engine(f"sqlite:///{folder}/scheduler.db")
        return stored_rate(engine)


def distributed(services: Services, word: str, name: str, repeats: int) -> float:
    """Return runs per second of a submit to a worker process, through Redis and PostgreSQL."""
    with TemporaryDirectory() as folder, services.fresh():
        scheduler(folder, services.environment, "db", "upgrade")
        engine = create_engine(services.database)
        with _worker(folder, services, engine):
            scheduler(folder, services.environment, "submit", name, "-s", word, "--repeat", str(repeats))
            while _state(engine) is BatchState.ACTIVE:
                time.sleep(POLL_S)
            return stored_rate(engine)


def scheduler(folder: str, more: dict[str, str], *arguments: str) -> None:
    """Run the command in a folder.

    Raises
    ------
    RuntimeError
        The command failed; the message contains its standard error.
    """
    command = [*SCHEDULER, *arguments]
    ran = subprocess.run(
        command, cwd=folder, env=environment(folder, more), capture_output=True, text=True, check=False
    )
    if ran.returncode:
        raise RuntimeError(f"scheduler {' '.join(arguments)} ended with {ran.returncode}: {ran.stderr[-2000:]}")


def environment(folder: str, more: dict[str, str]) -> dict[str, str]:
    """Return our environment, with the project importable and separate core locks."""
    kept = {name: value for name, value in os.environ.items() if not name.startswith("CAGEMATCH_")}
    path = os.pathsep.join(filter(None, (str(ROOT), os.environ.get("PYTHONPATH"))))
    return kept | {"PYTHONPATH": path, "CAGEMATCH_LOCKS": f"{folder}/locks"} | more


def stored_rate(engine: Engine) -> float:
    """Return runs per second from the first run's start to the last commit.

    Raises
    ------
    RuntimeError
        A run is missing or was not solved.
    """
    with engine.connect() as connection:
        right = func.count().filter(Run.answer == Answer.SOLUTION, Run.holds.is_(True))
        runs, solved, start = connection.execute(
            select(func.count(), right, func.min(Run.finished_at - Run.wall_s))
        ).one()
        wanted, end = connection.execute(select(Batch.puzzles * Batch.repeats, Batch.finished_at)).one()
    engine.dispose()
    if end is None or not runs == solved == wanted:
        raise RuntimeError(f"found {runs} runs, {solved} of them solved; expected {wanted} solved runs")
    return float(runs / (end - start))


def _state(engine: Engine) -> BatchState | None:
    with engine.connect() as connection:
        return connection.scalar(select(Batch.state))


@contextmanager
def _worker(folder: str, services: Services, engine: Engine) -> Iterator[None]:
    command = [*SCHEDULER, "worker", "--pool", "all", "--log-level", "ERROR"]
    with Path(folder, "worker.log").open("w") as log:
        process = subprocess.Popen(
            command, cwd=folder, env=environment(folder, services.environment), stdout=log, stderr=log
        )
        try:
            _wait_for_worker(engine, process)
            yield
        finally:
            process.terminate()
            process.wait(timeout=START_S)


def _wait_for_worker(engine: Engine, process: subprocess.Popen[bytes]) -> None:
    deadline = time.monotonic() + START_S
    while time.monotonic() < deadline and process.poll() is None:
        with engine.connect() as connection:
            if connection.scalar(select(func.count()).select_from(Worker)):
                time.sleep(POLL_S)  # The worker subscribes to its queues after it registers.
                return
        time.sleep(0.1)
    raise RuntimeError(f"the worker did not start within {START_S:g} s")


if __name__ == "__main__":
    _, how, *rest = sys.argv
    word, name, repeats = rest[0], rest[1], int(rest[2])
    if how == "embedded":
        print(f"{embedded(word, name, repeats):.2f} runs/s")
    elif found := find_services():
        print(f"{distributed(found, word, name, repeats):.2f} runs/s")
    else:
        raise SystemExit("Redis or PostgreSQL does not answer")
