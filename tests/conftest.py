"""Fixtures for every test: services of its own, and the installed command in an empty folder.

A test whose service does not answer is skipped, and the end of the run counts such tests by service; with CI=true it
fails. The end of the run also counts the slow tests that were not selected.
"""

from __future__ import annotations

import fcntl
import os
import re
import signal
import tempfile
import uuid
from collections import Counter
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import Any, NoReturn

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
OURS = "cagematch:tests"  # the key of a Redis database that the tests may empty
LAYERS = ("unit", "integration", "acceptance")
NOT_RUN = pytest.StashKey[Counter[str]]()  # slow tests that were deselected, by xdist worker
NEEDS = re.compile(r"needs ([^:]+): ")


def pytest_configure(config: pytest.Config) -> None:
    config.stash[NOT_RUN] = Counter()
    # A shell starts background jobs with this signal ignored, and commands inherit that: no test could interrupt one.
    if signal.getsignal(signal.SIGINT) is signal.SIG_IGN:
        signal.signal(signal.SIGINT, signal.default_int_handler)


def pytest_collection_modifyitems(items: list[pytest.Item]) -> None:
    """Mark each test with its layer, which is the name of its folder."""
    for item in items:
        layer = item.path.relative_to(Path(__file__).parent).parts[0]
        if layer in LAYERS:
            item.add_marker(layer)


def pytest_deselected(items: list[pytest.Item]) -> None:
    """Count the slow tests that ``make test`` leaves out. An xdist worker reports its count when it ends."""
    if items and (config := items[0].config).option.markexpr == "not slow":
        slow = sum(item.get_closest_marker("slow") is not None for item in items)
        config.stash[NOT_RUN]["here"] = slow
        if hasattr(config, "workeroutput"):
            config.workeroutput["slow"] = slow


@pytest.hookimpl(optionalhook=True)
def pytest_testnodedown(node: Any) -> None:
    """Take the count of an xdist worker; every worker collects the same tests."""
    node.config.stash[NOT_RUN][node.gateway.id] += getattr(node, "workeroutput", {}).get("slow", 0)


def pytest_terminal_summary(terminalreporter: pytest.TerminalReporter, config: pytest.Config) -> None:
    """Count the tests that did not run: the skipped ones by service or reason, and the slow ones."""
    reasons: dict[str, list[str]] = {}
    for report in terminalreporter.stats.get("skipped", []):
        if isinstance(report.longrepr, tuple):  # not a test that is expected to fail
            reason = report.longrepr[2].removeprefix("Skipped: ")
            service = NEEDS.match(reason)
            reasons.setdefault(service[1] if service else reason, []).append(reason)
    slow = max(config.stash[NOT_RUN].values(), default=0)
    if not reasons and not slow:
        return
    terminalreporter.section("tests that did not run", "-")
    for whys in reasons.values():
        terminalreporter.write_line(f"{_tests(len(whys))} skipped: {whys[0]}")
    if slow:
        terminalreporter.write_line(f"{_tests(slow)} deselected as slow; run them with `make test-all`")


def _tests(count: int) -> str:
    return f"{count:,} test" + ("s" if count != 1 else "")


@pytest.fixture
def missing() -> Callable[[str, str], NoReturn]:
    """``missing("Redis", why)``: skip the test, and name the missing service; in CI fail the test."""

    def miss(service: str, why: str) -> NoReturn:
        reason = f"needs {service}: {why}"
        if os.environ.get("CI") == "true":
            pytest.fail(reason, pytrace=False)
        pytest.skip(reason)

    return miss


@pytest.fixture
def postgres_url(missing: Callable[[str, str], NoReturn]) -> Iterator[str]:
    """A PostgreSQL database for one test: created empty, and dropped at its end."""
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
    """A numbered Redis database for one test, emptied before and after; one with foreign keys is never used."""
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
    missing("Redis", f"found every database from {REDIS} on in use or with foreign keys, expected a free one")


@contextmanager
def _alone(url: str) -> Iterator[bool]:
    """Whether no other test of this host uses the database; the kernel releases it when a test run dies."""
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
