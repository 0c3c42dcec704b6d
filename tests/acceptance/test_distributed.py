"""Separate workers on Redis and PostgreSQL: the same answers as embedded, and no run lost when a process dies."""

from __future__ import annotations

import csv
import signal
import subprocess
import sys
import time
from collections import Counter
from collections.abc import Callable, Iterator
from dataclasses import dataclass
from pathlib import Path

import psycopg
import pytest
import redis
from commanding import Scheduler, make_scheduler, until
from fleets import Fleet
from sqlalchemy import make_url

ROOT = Path(__file__).resolve().parents[2]
SETS = [ROOT / "puzzles" / f"{name}.txt" for name in ("easy", "medium", "hard")]
HARD = SETS[-1]
POOLS = ("cp-sat", "legacy-cp", "mip", "other")
BESIDE = Path(sys.executable).parent


@pytest.fixture
def fleet(tmp_path: Path, postgres_url: str, redis_url: str) -> Iterator[Fleet]:
    """A current database, an empty broker, and no worker."""
    folder = tmp_path / "shared"
    folder.mkdir()
    command = make_scheduler(folder, CAGEMATCH_DATABASE_URL=postgres_url, CAGEMATCH_BROKER_URL=redis_url)
    command("db", "upgrade")
    made = Fleet(command, postgres_url, redis_url)
    yield made
    for worker in made.workers:
        if worker.poll() is None:
            worker.terminate()
    for worker in made.workers:
        worker.communicate(timeout=20)
    command.close()


def answers(command: Scheduler, folder: Path) -> dict[tuple[str, str], str]:
    """The puzzle, configuration and outcome of every decided run."""
    command("export", folder / "runs.csv")
    with (folder / "runs.csv").open(encoding="utf-8", newline="") as file:
        rows = list(csv.DictReader(file))
    return {(r["puzzle"], r["configuration"]): r["status"] for r in rows if r["status"] in ("solved", "no solution")}


@pytest.mark.slow
def test_four_pools_find_what_an_embedded_submit_finds(fleet: Fleet, scheduler: Scheduler, tmp_path: Path):
    submit = ("submit", *SETS, "-s", "@core", "--limit", 3, "--timeout", "700ms", "--wait")
    scheduler(*submit)
    for pool in POOLS:
        fleet.start(pool)
    fleet.wait_for_workers()

    fleet.command(*submit)

    here, there = answers(scheduler, tmp_path), answers(fleet.command, tmp_path)
    both = here.keys() & there.keys()
    assert len(both) > 50
    assert {key: here[key] for key in both} == {key: there[key] for key in both}
    assert fleet.value("SELECT count(*) FROM run") == 9 * 8
    served = fleet.rows(
        "SELECT DISTINCT w.id, w.queues->>0, c.backend FROM run r JOIN worker w ON w.id = r.worker_id "
        "JOIN configuration c ON c.id = r.configuration_id"
    )
    expected = {("cp-sat", "cp-sat"), ("legacy-cp", "legacy-cp"), ("other", "backtracking")}
    expected |= {("mip", backend) for backend in ("scip", "cbc", "pulp-cbc")}
    assert {(queue, backend) for _, queue, backend in served} == expected
    assert len({worker for worker, _, _ in served}) == 4
    assert "easy" in fleet.command("report").stdout


def serve_with_celery(fleet: Fleet, folder: Path) -> int:
    """Start Celery's own command in a folder until the batch is done, and return its exit code."""
    celery = subprocess.Popen(
        [BESIDE / "celery", "-A", "cagematch.workers", "worker", "-Q", "mip,legacy-cp", "--loglevel", "WARNING"],
        cwd=folder,
        env=fleet.command.environment,
        stdout=subprocess.DEVNULL,
        stderr=subprocess.DEVNULL,
    )
    try:
        fleet.wait_until_done()
    finally:
        celery.terminate()
        celery.wait(20)
    return celery.returncode


@pytest.mark.smoke
@pytest.mark.parametrize("folder", [ROOT, None], ids=["in the project", "elsewhere"])
def test_plain_celery_serves_what_was_submitted_before_it_came(fleet: Fleet, folder: Path | None):
    told = fleet.command("submit", HARD, "-s", "scip", "-s", "cp-min-size", "--limit", 2).text
    assert "no live worker serves scip, legacy-cp" in told
    assert fleet.batch(1)["done"] == 0

    returned = serve_with_celery(fleet, folder or fleet.command.folder)

    assert returned == 0
    assert fleet.value("SELECT count(*) FROM run WHERE holds") == 4


def test_modules_of_the_user_do_not_replace_ours(fleet: Fleet):
    """Celery puts its working folder first on the path, so only the package `cagematch` keeps them apart."""
    folder = fleet.command.folder
    for package in ("models", "problems"):
        (folder / package).mkdir()
    for name in ("workers.py", "scheduler.py", "models/__init__.py", "problems/__init__.py"):
        (folder / name).write_text("raise RuntimeError('a module of the user was imported')\n")
    fleet.command("submit", HARD, "-s", "scip", "--limit", 1)

    returned = serve_with_celery(fleet, folder)

    assert returned == 0
    assert fleet.value("SELECT count(*) FROM run WHERE holds") == 1


@pytest.mark.slow
def test_two_batches_and_lost_messages(fleet: Fleet):
    """Batches advance together, and lost messages are sent again."""
    big = ("submit", HARD, "-s", "backtracking", "--timeout", "100ms", "--repeat", 4)
    for words in (big, ("submit", HARD, "-s", "backtracking", "--timeout", "100ms", "--limit", 30)):
        fleet.command(*words)
    fleet.start("other")
    fleet.wait_for_workers()

    until(lambda: all(fleet.batch(number)["done"] > 0 for number in (1, 2)))
    assert fleet.value("SELECT state FROM batch WHERE id = 1") == "active"
    redis.Redis.from_url(fleet.broker).flushdb()

    fleet.wait_until_done(2)
    assert fleet.value("SELECT count(*) FROM run WHERE batch_id = 2") == 30
    fleet.command("cancel", 1)


@pytest.mark.smoke
@pytest.mark.slow
def test_stopped_worker(fleet: Fleet):
    """A stopped worker exits at once, and another worker continues its batch."""
    first = fleet.start("other")
    fleet.wait_for_workers()
    fleet.command("submit", HARD, "-s", "backtracking", "--limit", 2, "--timeout", "8s")
    until(lambda: fleet.value("SELECT count(*) FROM shard WHERE state = 'leased'") == 2 and len(fleet.solving()) == 2)

    told = time.monotonic()
    first.send_signal(signal.SIGTERM)
    first.communicate(timeout=20)
    took = time.monotonic() - told

    assert first.returncode == 0
    assert took < 4, f"{took:.1f} s"
    until(lambda: not fleet.command.processes(), 2)
    assert fleet.rows("SELECT state, attempts, lease_token FROM shard") == [("queued", 0, None)] * 2
    assert fleet.value("SELECT count(*) FROM run") == 0
    fleet.workers.remove(first)
    fleet.start("other")
    fleet.wait_until_done()
    assert fleet.value("SELECT count(*) FROM run WHERE stop = 'timeout'") == 2


@pytest.mark.slow
def test_killed_worker(fleet: Fleet):
    """After one of two workers is killed, the batch finishes without help."""
    for _ in range(2):
        fleet.start("other", slots=1)
    fleet.wait_for_workers()
    fleet.command("submit", HARD, "-s", "backtracking", "--limit", 24, "--timeout", "1s")
    working = "SELECT count(DISTINCT lease_owner) FROM shard WHERE state = 'leased'"
    until(lambda: fleet.value(working) == 2 and fleet.value("SELECT count(*) FROM run") >= 2)
    # The supervising worker, so that the other one must take over supervision as well.
    duty = int(fleet.value("SELECT note FROM lease").rpartition(":")[2])
    victim = next(worker for worker in fleet.workers if worker.pid == duty)

    victim.kill()
    killed = time.monotonic()
    victim.communicate(timeout=20)
    fleet.workers.remove(victim)
    until(lambda: len(fleet.solving()) <= 1, 2)
    fleet.wait_until_done(within_s=20 + 60)

    assert time.monotonic() - killed > 5
    assert fleet.rows("SELECT stop, count(*) FROM run GROUP BY stop") == [("timeout", 24)]
    assert fleet.value("SELECT count(DISTINCT puzzle_id) FROM run") == 24
    assert int(fleet.value("SELECT note FROM lease").rpartition(":")[2]) == fleet.workers[0].pid


@pytest.mark.slow
def test_cancel_and_resume(fleet: Fleet):
    """`cancel` takes effect at once, and `resume` continues the batch."""
    fleet.start("other")
    fleet.wait_for_workers()
    fleet.command("submit", HARD, "-s", "backtracking", "--limit", 2, "--timeout", "12s")
    until(lambda: fleet.value("SELECT count(*) FROM shard WHERE state = 'leased'") == 2 and len(fleet.solving()) == 2)

    told = fleet.command("cancel").stdout
    until(lambda: not fleet.solving(), 9)

    assert "2 runs cancelled" in told
    assert "no unfinished runs to cancel" in fleet.command("cancel").stdout
    assert Counter(fleet.rows("SELECT state FROM shard")) == {("cancelled",): 2}
    assert fleet.value("SELECT count(*) FROM run") == 0
    fleet.command("resume", "--wait")
    assert fleet.value("SELECT count(*) FROM run WHERE stop = 'timeout'") == 2


# -- refusals


@dataclass
class Refused:
    """Check that a worker is refused, with both commands that start one."""

    fleet: Fleet

    def __call__(self, told: str, *, plain: tuple[str, ...] = (), **environment: str) -> None:
        scheduler = [*self.fleet.command.command, "worker", "--pool", "mip"]
        celery = [str(BESIDE / "celery"), "-A", "cagematch.workers", "worker", "-Q", "mip", *plain]
        for words in [celery] if plain else [scheduler, celery]:
            done = subprocess.run(
                words,
                cwd=self.fleet.command.folder,
                env={k: v for k, v in (self.fleet.command.environment | environment).items() if v},
                capture_output=True,
                text=True,
                timeout=60,
                check=False,
            )
            assert done.returncode == 2, done.stderr
            assert told in done.stderr
            assert "Traceback" not in done.stderr
        assert self.fleet.rows("SELECT to_regclass('worker')") != [("worker",)] or not self.fleet.value(
            "SELECT count(*) FROM worker"
        )


@pytest.fixture
def refused(fleet: Fleet) -> Refused:
    return Refused(fleet)


def test_unreachable_broker(refused: Refused, free_port: int):
    refused("is unreachable", CAGEMATCH_BROKER_URL=f"redis://127.0.0.1:{free_port}/0")


def test_unreachable_database(refused: Refused, free_port: int):
    refused("the database failed", CAGEMATCH_DATABASE_URL=f"postgresql://nobody@127.0.0.1:{free_port}/none")


def test_a_redis_that_drops_messages_is_refused(refused: Refused, forgetful_redis: str):
    refused("maxmemory-policy allkeys-lru", CAGEMATCH_BROKER_URL=forgetful_redis)


def test_worker_without_a_broker(refused: Refused):
    """A worker without a shared broker is refused."""
    refused("set CAGEMATCH_BROKER_URL", CAGEMATCH_DATABASE_URL="", CAGEMATCH_BROKER_URL="")


def test_half_a_configuration_is_refused(refused: Refused):
    refused("CAGEMATCH_BROKER_URL is set and CAGEMATCH_DATABASE_URL is not", CAGEMATCH_DATABASE_URL="")


@pytest.mark.parametrize("pool", ["solo", "processes"])
def test_another_pool_of_celerys_is_refused(refused: Refused, pool: str):
    refused("expected threads: each slot is a thread", plain=("--pool", pool))


@pytest.mark.parametrize(
    ("change", "told"),
    [
        ("UPDATE cagematch_version SET version_num = '9999'", "created by a newer Cagematch"),
        ("DELETE FROM cagematch_version", "is empty, expected version"),
        ("ALTER TABLE cagematch_version RENAME TO theirs", "belongs to another program"),
    ],
)
def test_unsuitable_database(refused: Refused, change: str, told: str):
    """A database of another version or of another program is refused and not changed."""
    with psycopg.connect(
        make_url(refused.fleet.database).set(drivername="postgresql").render_as_string(hide_password=False)
    ) as connection:
        connection.execute(change)

    refused(told)


@pytest.fixture
def forgetful_redis(free_port: int, tmp_path: Path, missing: Callable[[str, str], None]) -> Iterator[str]:
    """A Redis that evicts keys when it is full."""
    words = ["redis-server", "--bind", "127.0.0.1", "--port", str(free_port), "--save", "", "--dir", str(tmp_path)]
    try:
        server = subprocess.Popen([*words, "--maxmemory-policy", "allkeys-lru"], stdout=subprocess.DEVNULL)
    except FileNotFoundError:
        missing("redis-server", "it is not installed here")
    url = f"redis://127.0.0.1:{free_port}/0"

    def answers() -> bool:
        try:
            return redis.Redis.from_url(url).ping()
        except redis.RedisError:
            return False

    until(answers)
    yield url
    server.terminate()
    server.wait(10)


@pytest.fixture
def free_port() -> int:
    import socket

    with socket.socket() as probe:
        probe.bind(("127.0.0.1", 0))
        return probe.getsockname()[1]
