"""The password of an address is in no output: no message, traceback, log or report."""

from __future__ import annotations

import json
import signal
import socket
import subprocess
import sys
from collections.abc import Callable, Iterator
from concurrent.futures import ThreadPoolExecutor
from pathlib import Path

import pytest
import redis
from commanding import Scheduler, make_scheduler, until
from sqlalchemy import make_url

SECRET = "hunter2"
COMMANDS = (
    ("submit", "hard", "--limit", "1"),
    ("status",),
    ("watch",),
    ("report",),
    ("export", "-"),
    ("solvers",),
    ("worker", "--pool", "other"),
    ("db", "upgrade"),
    ("db", "check"),
)
CELERY = [sys.executable, "-P", "-m", "celery", "-A", "cagematch.workers"]
DATABASE, BROKER = "CAGEMATCH_DATABASE_URL", "CAGEMATCH_BROKER_URL"


def said(scheduler: Scheduler, words: list[str], **addresses: str) -> tuple[int, str]:
    """Run a program and return its exit code and output."""
    environment = scheduler.environment | addresses
    done = subprocess.run(
        words, cwd=scheduler.folder, env=environment, capture_output=True, text=True, timeout=90, check=False
    )
    return done.returncode, done.stdout + done.stderr


@pytest.fixture
def nowhere() -> Iterator[str]:
    """A host and a port on which no process listens during the test."""
    with socket.socket() as bound:
        bound.bind(("127.0.0.1", 0))
        yield f"127.0.0.1:{bound.getsockname()[1]}"


@pytest.mark.slow
def test_where_nothing_answers(scheduler: Scheduler, nowhere: str):
    addresses = {
        DATABASE: f"postgresql://me:{SECRET}@{nowhere}/cagematch?password={SECRET}",
        BROKER: f"redis://:{SECRET}@{nowhere}/0",
    }
    told = [[*scheduler.command, "--debug", *words] for words in COMMANDS]
    told += [[*scheduler.command, *words] for words in (("status",), ("solvers",), ("worker", "--pool", "other"))]
    told += [[*CELERY, "worker", "-Q", "other", "--loglevel", "DEBUG"]]

    with ThreadPoolExecutor(4) as beside:
        found = list(beside.map(lambda words: said(scheduler, words, **addresses), told))

    assert all("127.0.0.1" in text for _, text in found)
    assert sum("Traceback" in text for _, text in found) >= len(COMMANDS) - 1
    assert not [text for _, text in found if SECRET in text]


@pytest.fixture
def guarded_redis(tmp_path: Path, missing: Callable[[str, str], None]) -> Iterator[tuple[str, subprocess.Popen]]:
    """A Redis that requires the password, and its process."""
    with socket.socket() as probe:
        probe.bind(("127.0.0.1", 0))
        port = probe.getsockname()[1]
    words = ["redis-server", "--bind", "127.0.0.1", "--port", str(port), "--save", "", "--requirepass", SECRET]
    try:
        server = subprocess.Popen(words, cwd=tmp_path, stdout=subprocess.DEVNULL)
    except FileNotFoundError:
        missing("redis-server", "it is not installed here")
    address = f"127.0.0.1:{port}/0"

    def answers() -> bool:
        try:
            return redis.Redis.from_url(f"redis://:{SECRET}@{address}").ping()
        except redis.RedisError:
            return False

    until(answers)
    yield address, server
    server.kill()
    server.wait(10)


@pytest.mark.slow
def test_worker_that_loses_its_broker(tmp_path: Path, postgres_url: str, guarded_redis: tuple[str, subprocess.Popen]):
    """Both services require passwords, and the worker logs at its most detailed level."""
    address, server = guarded_redis
    folder = tmp_path / "shared"
    folder.mkdir()
    database = make_url(postgres_url).set(password=SECRET).render_as_string(hide_password=False)
    command = make_scheduler(folder, **{DATABASE: database, BROKER: f"redis://:{SECRET}@{address}"})
    heard = []
    try:
        wrong = {BROKER: f"redis://:not-{SECRET}@{address}"}
        heard += [said(command, [*command.command, *words], **wrong)[1] for words in (["db", "upgrade"], ["status"])]
        command("db", "upgrade")
        worker = command.start("worker", "--pool", "mip", "--log-level", "DEBUG")
        until(lambda: json.loads(command("status", "--json").stdout)["workers"])
        heard.append(command("submit", "hard", "-s", "scip", "--limit", "2", "--wait").text)
        heard += [command(*words).text for words in (("report",), ("export", "-"), ("status",), ("solvers", "--json"))]
        heard.append(said(command, [*CELERY, "report"])[1])
        heard.append(said(command, [*CELERY, "inspect", "conf", "--timeout", "5"])[1])

        server.send_signal(signal.SIGKILL)
        server.wait(10)
        lines = []
        while "Trying again" not in "".join(lines[-1:]):
            lines.append(worker.stderr.readline())
        worker.send_signal(signal.SIGTERM)
        heard += [*lines, *worker.communicate(timeout=30)]
    finally:
        command.close()

    log = "".join(heard)
    assert "batch 1 done" in log
    assert "accept_content" in log
    assert "DEBUG" in log
    assert SECRET not in log
