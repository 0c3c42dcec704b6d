"""Redis and PostgreSQL away, restarted empty, flapping; workers suspended, killed, deaf: nothing lost, nothing twice.

The servers are the tests' own. The backend ``witness`` writes down each solve that it finishes.
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
from chaos.servers import Postgres, Redis, patiently
from commanding import ROOT, make_scheduler, until
from fleets import Fleet

LEASE_S = 3.0
PUZZLES = [line for line in (ROOT / "puzzles" / "easy.txt").read_text().split() if len(line) == 81 and "#" not in line]
pytestmark = pytest.mark.slow


@dataclass
class Place:
    """Servers of one's own, and workers of the backend that writes down what it does."""

    redis: Redis
    postgres: Postgres
    fleet: Fleet
    folder: Path

    def start_worker(self) -> subprocess.Popen[str]:
        """Start a worker of one slot."""
        return self.fleet.start("other", slots=1)

    def submit(self, puzzles: int, *words: object) -> str:
        """Submit the first puzzles; what the command said."""
        return self.fleet.command("submit", "easy", "-s", "witness", "--limit", puzzles, *words).text

    @property
    def solved(self) -> Counter[str]:
        """How often each puzzle was solved to the end."""
        log = self.folder / "log"
        return Counter(log.read_text().split()) if log.exists() else Counter()

    @property
    def spooled(self) -> int:
        """Bytes in the spool."""
        return sum(path.stat().st_size for path in self.folder.glob("shared-spool/*/*.jsonl"))

    def stored(self) -> int:
        """Runs in the database."""
        return int(self.fleet.value("SELECT count(*) FROM run"))

    def is_idle(self, for_s: float = 1.5) -> Callable[[], bool]:
        """A condition: no solve has ended for so long."""
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
    return lambda: patiently(lambda: dict(place.fleet.rows("SELECT id, state FROM batch")).get(batch)) == "done"


# -- PostgreSQL


def test_what_is_finished_while_postgresql_is_away_is_kept_and_nothing_is_measured_twice(place: Place):
    workers = [place.start_worker() for _ in range(2)]
    place.fleet.wait_for_workers()
    place.submit(50)
    until(lambda: place.stored() >= 4)

    place.postgres.stop()
    until(lambda: place.spooled)
    until(place.is_idle())  # their leases have run out: who cannot renew one begins nothing any more
    place.postgres.start()

    until(done(place), 60)
    assert place.stored() == 50
    assert set(place.solved.values()) == {1}
    assert place.spooled == 0
    assert [worker.poll() for worker in workers] == [None, None]


def test_what_a_killed_worker_had_in_the_spool_is_stored_by_the_next(place: Place):
    first = place.start_worker()
    place.fleet.wait_for_workers()
    place.submit(40)
    until(lambda: place.stored() >= 4)
    place.postgres.stop()
    until(lambda: place.spooled)
    until(place.is_idle())

    first.kill()
    first.wait()
    place.fleet.workers.remove(first)
    place.postgres.start()
    place.start_worker()

    until(done(place), 60)
    assert place.stored() == 40
    assert set(place.solved.values()) == {1}
    assert place.spooled == 0


def test_a_worker_told_to_stop_while_postgresql_is_away_ends_and_leaves_the_spool_to_the_next(place: Place):
    first = place.start_worker()
    place.fleet.wait_for_workers()
    place.submit(30)
    until(lambda: place.stored() >= 4)
    place.postgres.stop()
    until(lambda: place.spooled)

    first.terminate()
    first.communicate(timeout=20)
    kept = place.spooled
    place.fleet.workers.remove(first)
    place.postgres.start()
    place.start_worker()

    assert first.returncode in (0, 1)  # 1: it did not wait for PostgreSQL to hear of it
    assert kept > 0
    until(done(place), 60)
    assert place.stored() == 30
    assert place.solved.total() <= 30 + 3  # what the keeper had in hand is dropped, as at any stop


def test_with_a_full_spool_no_run_is_begun_and_it_is_said(place: Place):
    place.fleet.command.environment |= {"CAGEMATCH_SPOOL_MIB": "0", "WITNESS_S": "0.3"}
    worker = place.start_worker()
    place.fleet.wait_for_workers()
    place.submit(50)
    until(lambda: place.stored() >= 4)

    place.postgres.stop()
    until(place.is_idle(0.5 * LEASE_S))
    before = place.solved.total()
    place.postgres.start()

    assert before < 50
    until(done(place), 60)
    assert set(place.solved.values()) == {1}
    worker.terminate()
    assert "is full: no run is begun until the database is back" in worker.communicate(timeout=20)[1]


def test_a_postgresql_that_comes_and_goes_kills_no_worker(place: Place):
    workers = [place.start_worker() for _ in range(2)]
    place.fleet.wait_for_workers()
    place.submit(50, "--repeat", 2)

    for reached in (5, 15, 25, 40, 60):
        until(lambda reached=reached: (patiently(place.stored) or 0) >= reached, 60)
        place.postgres.stop()
        place.postgres.start()

    until(done(place), 60)
    assert place.stored() == 100
    assert set(place.solved.values()) == {2}
    assert [worker.poll() for worker in workers] == [None, None]


# -- Redis


def test_a_batch_submitted_while_redis_is_away_is_stored_and_begun_when_it_is_back(place: Place):
    place.start_worker()
    place.fleet.wait_for_workers()
    place.redis.stop()

    told = place.submit(10)
    state = place.fleet.command("status").text
    place.redis.start()

    assert "batch 1 is stored; the broker" in told
    assert "is unreachable; queued runs wait" in state
    until(done(place), 60)
    assert set(place.solved.values()) == {1}


def test_a_redis_restarted_empty_stops_nothing(place: Place):
    workers = [place.start_worker() for _ in range(2)]
    place.fleet.wait_for_workers()
    place.submit(50, "--repeat", 2)
    for reached in (5, 50):
        until(lambda reached=reached: place.stored() >= reached, 60)
        place.redis.stop()
        place.redis.start()

    until(done(place), 60)
    assert place.stored() == 100
    assert set(place.solved.values()) == {2}
    assert [worker.poll() for worker in workers] == [None, None]


def test_a_consumer_whose_connection_is_dead_connects_anew(place: Place):
    """What a network leaves behind that dropped its connections without a word: both ends believe in them."""
    with Relay(place.redis.port) as relay:
        place.fleet.command.environment["CAGEMATCH_BROKER_URL"] = f"redis://127.0.0.1:{relay.port}/0"
        worker = place.start_worker()
        place.fleet.wait_for_workers()
        place.submit(1)
        until(done(place), 60)

        relay.freeze()
        place.submit(10)

        until(done(place, 2), 60)
    worker.terminate()
    assert "nothing is heard: connecting anew" in worker.communicate(timeout=20)[1]


# -- workers


def test_what_a_suspended_worker_comes_back_with_is_not_stored_when_its_lease_went_to_another(place: Place):
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

    until(done(place), 60)
    assert place.stored() == 100
    assert place.fleet.value("SELECT count(*) FROM run WHERE stop <> 'finished'") == 0
    assert [worker.poll() for worker in workers] == [None, None]


def test_a_run_that_takes_its_worker_with_it_three_times_is_an_error_and_the_others_are_solved(place: Place):
    firsts = Counter(next(c for c in text if c not in ".0") for text in PUZZLES[:10])
    killer, killers = firsts.most_common()[-1]
    place.fleet.command.environment["WITNESS_KILLS"] = killer
    place.start_worker()
    place.fleet.wait_for_workers()
    place.submit(10)

    starts = 1
    is_done = done(place)
    over = time.monotonic() + 200
    while not is_done() and time.monotonic() < over:  # as a service manager would
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


def test_watch_says_what_it_waits_for_and_goes_on(place: Place):
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


def test_interrupted_watching_says_how_to_look_again(place: Place):
    place.submit(5)
    watching = place.fleet.command.start("watch", 1)
    until(lambda: place.fleet.value("SELECT count(*) FROM pg_stat_activity WHERE application_name = 'cagematch'"))
    place.postgres.stop()
    heard: list[str] = []
    until(lambda: heard.append(watching.stderr.readline()) or "is unreachable, retrying" in heard[-1] or not heard[-1])
    assert heard[-1], heard

    def interrupted() -> bool:
        watching.send_signal(signal.SIGINT)  # again and again: Python drops one that comes in the middle of a callback
        with suppress(subprocess.TimeoutExpired):
            watching.wait(1)
        return watching.poll() is not None

    until(interrupted)
    assert "`scheduler watch 1` shows it again" in watching.stderr.read()
    assert watching.returncode == 130
