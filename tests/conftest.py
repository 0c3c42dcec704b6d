"""What every test may ask for: services of its own, and the installed command in an empty folder.

A test that needs a service which does not answer is skipped, and the end of the run says so; with CI=true it fails.
"""

from __future__ import annotations

import fcntl
import os
import tempfile
import uuid
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import NoReturn

import psycopg
import pytest
import redis
from commanding import Scheduler, make_scheduler, until
from psycopg import sql
from sqlalchemy import make_url

from cagematch.problems.errors import first_line

__all__ = ["Scheduler", "make_scheduler", "until"]

REDIS = os.environ.get("CAGEMATCH_TEST_REDIS_URL") or "redis://127.0.0.1:6379/9"
DATABASE = os.environ.get("CAGEMATCH_TEST_DATABASE_URL") or "postgresql+psycopg://postgres@127.0.0.1:5432/test"
ANSWER_S = 3
OURS = "cagematch:tests"  # a key that marks a Redis database which the tests may empty
LAYERS = ("unit", "integration", "acceptance")
LACKING = pytest.StashKey[dict[str, list[str]]]()


def pytest_configure(config: pytest.Config) -> None:
    config.stash[LACKING] = {}


def pytest_collection_modifyitems(items: list[pytest.Item]) -> None:
    """A test's folder is its layer."""
    for item in items:
        layer = item.path.relative_to(Path(__file__).parent).parts[0]
        if layer in LAYERS:
            item.add_marker(layer)


def pytest_terminal_summary(terminalreporter: pytest.TerminalReporter, config: pytest.Config) -> None:
    """Say which tests did not run, and what they lack."""
    for service, tests in config.stash[LACKING].items():
        count = f"{len(tests)} test" + ("s" if len(tests) > 1 else "")
        terminalreporter.section(f"{count} did not run for want of {service}", "-")
        for test in tests:
            terminalreporter.write_line(test)


@pytest.fixture
def missing(request: pytest.FixtureRequest) -> Callable[[str, str], NoReturn]:
    """``missing("Redis", why)``: skip the test, naming the service that it lacks; in CI fail it."""

    def miss(service: str, why: str) -> NoReturn:
        told = f"needs {service}: {why}"
        if os.environ.get("CI") == "true":
            pytest.fail(told, pytrace=False)
        request.config.stash[LACKING].setdefault(service, []).append(request.node.nodeid)
        pytest.skip(told)

    return miss


@pytest.fixture
def postgres_url(missing: Callable[[str, str], NoReturn]) -> Iterator[str]:
    """A PostgreSQL database of the test's own, empty at first and dropped in the end."""
    url = make_url(DATABASE)
    server = url.set(drivername="postgresql").render_as_string(hide_password=False)
    try:
        connection = psycopg.connect(server, autocommit=True, connect_timeout=ANSWER_S)
    except psycopg.Error as error:
        missing("PostgreSQL", f"{url} (CAGEMATCH_TEST_DATABASE_URL): {first_line(error)}")
    name = f"cagematch_test_{uuid.uuid4().hex[:12]}"
    with connection:
        connection.execute(sql.SQL("CREATE DATABASE {}").format(sql.Identifier(name)))
        try:
            yield url.set(drivername="postgresql+psycopg", database=name).render_as_string(hide_password=False)
        finally:
            connection.execute(sql.SQL("DROP DATABASE IF EXISTS {} WITH (FORCE)").format(sql.Identifier(name)))


@pytest.fixture
def redis_url(missing: Callable[[str, str], NoReturn]) -> Iterator[str]:
    """A numbered Redis database of the test's own, empty before and after; never one with somebody's keys."""
    base, _, first = REDIS.rpartition("/")
    try:
        last = int(redis.Redis.from_url(REDIS, socket_connect_timeout=ANSWER_S).config_get("databases")["databases"])
    except redis.RedisError as error:
        missing("Redis", f"{REDIS} (CAGEMATCH_TEST_REDIS_URL): {first_line(error)}")
    for number in range(int(first), last):
        url = f"{base}/{number}"
        with _alone(url) as alone, redis.Redis.from_url(url) as client:
            if not alone or (client.dbsize() and not client.exists(OURS)):
                continue
            client.flushdb()
            client.set(OURS, "1")
            try:
                yield url
            finally:
                client.flushdb()
            return
    missing("Redis", f"every database from {REDIS} on is in use or holds keys that are not the tests'")


@contextmanager
def _alone(url: str) -> Iterator[bool]:
    """Whether no other test of this host has that database now; the kernel frees it when a test run dies."""
    folder = Path(tempfile.gettempdir()) / "cagematch-tests"
    folder.mkdir(mode=0o777, exist_ok=True)
    with (folder / "".join(c if c.isalnum() else "-" for c in url)).open("w") as lock:
        try:
            fcntl.flock(lock, fcntl.LOCK_EX | fcntl.LOCK_NB)
        except BlockingIOError:
            yield False
        else:
            yield True


@pytest.fixture
def scheduler(tmp_path: Path) -> Iterator[Scheduler]:
    """The command in an empty folder: ``scheduler("submit", "hard").stdout``."""
    folder = tmp_path / "work"
    folder.mkdir()
    made = make_scheduler(folder)
    yield made
    made.close()
