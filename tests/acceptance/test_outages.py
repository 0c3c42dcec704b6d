"""Outages of Redis and PostgreSQL, and suspended, killed and silent workers: no run lost, and none stored twice.

Each test has its own servers. The backend ``witness`` records each solve that it finishes.
"""

from __future__ import annotations

import os
import signal
import subprocess
import time
from collections import Counter
from collections.abc import Callable, Iterator
from contextlib import suppress
from dataclasses import dataclass
from pathlib import Path
from typing import NoReturn

import pytest
from chaos.relay import Relay
from chaos.servers import Postgres, Redis, or_none
from commanding import ROOT, make_scheduler, until
from fleets import Fleet

LEASE_S = 3.0
PUZZLES = [line for line in (ROOT / "puzzles" / "easy.txt").read_text().split() if len(line) == 81 and "#" not in line]
pytestmark = pytest.mark.slow


@dataclass
class Place:
    """Separate servers, and workers with a backend that records its solves."""

    redis: Redis
    postgres: Postgres
    fleet: Fleet
    folder: Path

    def start_worker(self) -> subprocess.Popen[str]:
        """Start a worker with one slot."""
        return self.fleet.start("other", slots=1)

    def submit(self, puzzles: int, *words: object) -> str:
        """Submit the first puzzles and return the output."""
        return self.fleet.command("submit", "easy", "-s", "witness", "--limit", puzzles, *words).text

    def stop_postgres_in_mid_batch(self, puzzles: int) -> None:
        """Submit, store a few runs, and stop PostgreSQL while the solver holds the others, however slow the host is."""
        hold = self.folder / "hold"
        hold.write_text("10")
        self.submit(puzzles, "--timeout", "60s")
        until(lambda: self.stored() >= 4)
        self.postgres.stop()
        hold.unlink()

    @property
    def solved(self) -> Counter[str]:
        """The number of complete solves of each puzzle."""
        log = self.folder / "log"
        return Counter(log.read_text().split()) if log.exists() else Counter()

    @property
    def spooled(self) -> int:
        """The size of the spool in bytes."""
        return sum(path.stat().st_size for path in self.folder.glob("shared-spool/*/*.jsonl"))

    def stored(self) -> int:
        """The number of runs in the database."""
        return int(self.fleet.value("SELECT count(*) FROM run"))

    def is_idle(self, for_s: float = 1.5) -> Callable[[], bool]:
        """Return a condition: no solve has ended for that time."""
        seen, since = -1, time.monotonic()

        def holds() -> bool:
            nonlocal seen, since
            if (now := self.solved.total()) != seen:
                seen, since = now, time.monotonic()
            return time.monotonic() - since > for_s

        return holds


@pytest.fixture
def place(tmp_path: Path, missing: Callable[[str, str], NoReturn]) -> Iterator[Place]:
    try:
        redis, postgres = Redis(), Postgres()
    except (ValueError, FileNotFoundError) as error:
        missing("PostgreSQL's programs and redis-server", str(error))
    folder = tmp_path / "shared"
    folder.mkdir()
    listed = tmp_path / "puzzles"
    listed.write_text("\n".join("".join(c for c in text if c not in ".0") for text in PUZZLES))
    command = make_scheduler(
        folder,
        CAGEMATCH_DATABASE_URL=postgres.url,
        CAGEMATCH_BROKER_URL=redis.url,
        CAGEMATCH_LEASE_S=str(LEASE_S),
        PYTHONPATH=os.pathsep.join([str(ROOT / "tests" / "witness"), str(ROOT)]),
        WITNESS_LOG=str(tmp_path / "log"),
        WITNESS_PUZZLES=str(listed),
        WITNESS_HOLD=str(tmp_path / "hold"),
    )
    made = Place(redis, postgres, Fleet(command, postgres.url, redis.url), tmp_path)
    try:
        redis.start()
        postgres.start()
        command("db", "upgrade")
        yield made
    finally:
        for worker in made.fleet.workers:
            worker.kill()
        command.close()
        redis.stop()
        postgres.remove()


def done(place: Place, batch: int = 1) -> Callable[[], bool]:
    return lambda: or_none(lambda: dict(place.fleet.rows("SELECT id, state FROM batch")).get(batch)) == "done"


# -- PostgreSQL


def test_postgresql_outage(place: Place):
    """Runs finished during an outage of PostgreSQL are stored, and no run is measured twice."""
    workers = [place.start_worker() for _ in range(2)]
    place.fleet.wait_for_workers()
    place.stop_postgres_in_mid_batch(50)
    until(lambda: place.spooled)
    until(place.is_idle())  # the leases have expired, and a worker without a lease starts no run
    place.postgres.start()

    until(done(place), 120)
    assert place.stored() == 50
    assert set(place.solved.values()) == {1}
    assert place.spooled == 0
    assert [worker.poll() for worker in workers] == [None, None]


def test_spool_of_a_killed_worker(place: Place):
    """The next worker stores the spooled runs of a killed worker."""
    first = place.start_worker()
    place.fleet.wait_for_workers()
    place.stop_postgres_in_mid_batch(40)
    until(lambda: place.spooled)
    until(place.is_idle())

    first.kill()
    first.wait()
    place.fleet.workers.remove(first)
    place.postgres.start()
    place.start_worker()

    until(done(place), 120)
    assert place.stored() == 40
    assert set(place.solved.values()) == {1}
    assert place.spooled == 0


def test_worker_stopped_during_an_outage(place: Place):
    """A worker stopped during an outage of PostgreSQL ends; the next worker stores its spool."""
    first = place.start_worker()
    place.fleet.wait_for_workers()
    place.stop_postgres_in_mid_batch(30)
    until(lambda: place.spooled)

    first.terminate()
    first.communicate(timeout=20)
    kept = place.spooled
    place.fleet.workers.remove(first)
    place.postgres.start()
    place.start_worker()

    assert first.returncode in (0, 1)  # 1: it ended without reporting its stop to PostgreSQL
    assert kept > 0
    until(done(place), 120)
    assert place.stored() == 30
    assert place.solved.total() <= 30 + 3  # the keeper's pending runs are dropped, as at every stop


def test_full_spool(place: Place):
    """With a full spool, no run is started, and the worker reports this."""
    place.fleet.command.environment |= {"CAGEMATCH_SPOOL_MIB": "0", "WITNESS_S": "0.3"}
    worker = place.start_worker()
    place.fleet.wait_for_workers()
    place.stop_postgres_in_mid_batch(50)
    until(place.is_idle(0.5 * LEASE_S))
    before = place.solved.total()
    place.postgres.start()

    assert before < 50
    until(done(place), 120)
    assert set(place.solved.values()) == {1}
    worker.terminate()
    assert "is full: no run starts until the database is reachable" in worker.communicate(timeout=20)[1]


def test_flapping_postgresql(place: Place):
    """Repeated outages of PostgreSQL end no worker."""
    workers = [place.start_worker() for _ in range(2)]
    place.fleet.wait_for_workers()
    place.submit(50, "--repeat", 2)

    for reached in (5, 15, 25, 40, 60):
        until(lambda reached=reached: (or_none(place.stored) or 0) >= reached, 60)
        place.postgres.stop()
        place.postgres.start()

    until(done(place), 120)
    assert place.stored() == 100
    assert set(place.solved.values()) == {2}
    assert [worker.poll() for worker in workers] == [None, None]


# -- Redis


def test_submit_during_a_redis_outage(place: Place):
    """A batch submitted during an outage of Redis is stored, and starts when Redis is back."""
    place.start_worker()
    place.fleet.wait_for_workers()
    place.redis.stop()

    told = place.submit(10)
    state = place.fleet.command("status").text
    place.redis.start()

    assert "batch 1 is stored, but the broker" in told
    assert "is unreachable" in state
    until(done(place), 120)
    assert set(place.solved.values()) == {1}


def test_redis_restarted_empty(place: Place):
    workers = [place.start_worker() for _ in range(2)]
    place.fleet.wait_for_workers()
    place.submit(50, "--repeat", 2)
    for reached in (5, 50):
        until(lambda reached=reached: place.stored() >= reached, 60)
        place.redis.stop()
        place.redis.start()

    until(done(place), 120)
    assert place.stored() == 100
    assert set(place.solved.values()) == {2}
    assert [worker.poll() for worker in workers] == [None, None]


def test_a_silent_consumer_reconnects(place: Place):
    """A network failure can drop a connection without closing it at either end."""
    with Relay(place.redis.port) as relay:
        place.fleet.command.environment["CAGEMATCH_BROKER_URL"] = f"redis://127.0.0.1:{relay.port}/0"
        worker = place.start_worker()
        place.fleet.wait_for_workers()
        place.submit(1)
        until(done(place), 120)

        relay.freeze()
        place.submit(10)

        until(done(place, 2), 120)
    worker.terminate()
    assert "the consumer is silent while messages wait; reconnecting" in worker.communicate(timeout=20)[1]


# -- workers


def test_suspended_worker(place: Place):
    """The results of a suspended worker are not stored if another worker has its lease."""
    workers = [place.start_worker() for _ in range(2)]
    place.fleet.wait_for_workers()
    place.submit(50, "--repeat", 2)
    until(lambda: place.fleet.value("SELECT count(DISTINCT worker_id) FROM run") == 2)
    held = (
        "SELECT s.lease_token FROM shard s JOIN worker w ON w.id = s.lease_owner WHERE s.state = 'leased' AND w.pid = "
    )
    until(lambda: place.fleet.rows(f"{held}{workers[0].pid}"))

    workers[0].send_signal(signal.SIGSTOP)
    tokens = place.fleet.rows(f"{held}{workers[0].pid}")
    until(lambda: place.fleet.rows(f"{held}{workers[0].pid}") == [] != tokens, 60)
    workers[0].send_signal(signal.SIGCONT)

    until(done(place), 120)
    assert place.stored() == 100
    assert place.fleet.value("SELECT count(*) FROM run WHERE stop <> 'finished'") == 0
    assert [worker.poll() for worker in workers] == [None, None]


def test_run_that_kills_its_worker(place: Place):
    """A run that kills its worker three times is an error, and the other runs are solved."""
    firsts = Counter(next(c for c in text if c not in ".0") for text in PUZZLES[:10])
    killer, killers = firsts.most_common()[-1]
    place.fleet.command.environment["WITNESS_KILLS"] = killer
    place.start_worker()
    place.fleet.wait_for_workers()
    place.submit(10)

    starts = 1
    is_done = done(place)
    over = time.monotonic() + 200
    while not is_done() and time.monotonic() < over:  # restarts the worker as a service manager does
        if place.fleet.workers[-1].poll() is not None:
            place.start_worker()
            starts += 1
        time.sleep(0.1)

    assert place.fleet.rows("SELECT stop, count(*) FROM run GROUP BY stop ORDER BY stop") == [
        ("error", killers),
        ("finished", 10 - killers),
    ]
    assert "3 workers in a row" in place.fleet.value("SELECT detail FROM run WHERE stop = 'error' LIMIT 1")
    assert starts >= 3 * killers


# -- commands


def test_watch_during_an_outage(place: Place):
    """`watch` reports the service that it waits for, and continues after the outage."""
    place.start_worker()
    place.fleet.wait_for_workers()
    place.submit(50, "--repeat", 6)
    until(lambda: place.stored() >= 2)
    watching = place.fleet.command.start("watch", 1)
    heard = [watching.stderr.readline()]
    until(lambda: heard.append(watching.stderr.readline()) or "/300 runs" in heard[-1])

    place.postgres.stop()
    asked = place.fleet.command.start("status")
    said = asked.stderr.readline() + asked.stderr.readline()
    place.postgres.start()

    out, told = watching.communicate(timeout=240)
    asked.communicate(timeout=60)
    assert f"the database postgresql+psycopg://postgres@127.0.0.1:{place.postgres.port}" in said
    assert "is unreachable, retrying" in told
    assert "the database is reachable again" in told
    assert "done: 300 of 300 runs" in out
    assert (watching.returncode, asked.returncode) == (0, 0)


def test_interrupted_watch_prints_how_to_continue(place: Place):
    place.submit(5)
    watching = place.fleet.command.start("watch", 1)
    until(lambda: place.fleet.value("SELECT count(*) FROM pg_stat_activity WHERE application_name = 'cagematch'"))
    place.postgres.stop()
    heard: list[str] = []
    until(lambda: heard.append(watching.stderr.readline()) or "is unreachable, retrying" in heard[-1] or not heard[-1])
    assert heard[-1], heard

    def interrupted() -> bool:
        watching.send_signal(signal.SIGINT)  # repeatedly: Python ignores a signal that arrives during a callback
        with suppress(subprocess.TimeoutExpired):
            watching.wait(1)
        return watching.poll() is not None

    until(interrupted)
    assert "`scheduler watch 1` shows the progress again" in watching.stderr.read()
    assert watching.returncode == 130
