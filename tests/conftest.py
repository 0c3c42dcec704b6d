"""What every test may ask for: services of its own, and the installed command in an empty folder.

A test that needs a service which does not answer is skipped, and the end of the run says so; with CI=true it fails.
"""

from __future__ import annotations

import fcntl
import os
import shutil
import signal
import subprocess
import sys
import tempfile
import time
import uuid
from collections.abc import Callable, Iterator
from contextlib import contextmanager, suppress
from dataclasses import dataclass, field
from pathlib import Path
from typing import NoReturn

import psycopg
import pytest
import redis
from psycopg import sql
from sqlalchemy import make_url

ROOT = Path(__file__).resolve().parent.parent
REDIS = os.environ.get("CAGEMATCH_TEST_REDIS_URL") or "redis://127.0.0.1:6379/9"
DATABASE = os.environ.get("CAGEMATCH_TEST_DATABASE_URL") or "postgresql+psycopg://postgres@127.0.0.1:5432/test"
ANSWER_S = 3
OURS = "cagematch:tests"  # a key that marks a Redis database which the tests may empty
COMMAND_S = 240.0
LAYERS = ("unit", "integration", "acceptance")
LACKING = pytest.StashKey[dict[str, list[str]]]()


# -- services


def pytest_configure(config: pytest.Config) -> None:
    config.stash[LACKING] = {}


def pytest_collection_modifyitems(items: list[pytest.Item]) -> None:
    """A test's folder is its layer."""
    for item in items:
        layer = item.path.relative_to(ROOT / "tests").parts[0]
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
        missing("PostgreSQL", f"{url} (CAGEMATCH_TEST_DATABASE_URL): {_first_line(error)}")
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
        missing("Redis", f"{REDIS} (CAGEMATCH_TEST_REDIS_URL): {_first_line(error)}")
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


def _first_line(error: Exception) -> str:
    return str(error).strip().partition("\n")[0]


# -- the command


@dataclass(frozen=True)
class Result:
    """What a command came to."""

    code: int
    stdout: str
    stderr: str

    @property
    def text(self) -> str:
        """All that it said."""
        return self.stdout + self.stderr


@dataclass
class Scheduler:
    """The command ``scheduler`` in a folder, with an environment of nothing but what it needs."""

    folder: Path
    command: list[str]
    environment: dict[str, str]
    _started: list[subprocess.Popen[str]] = field(default_factory=list)

    def __call__(self, *words: object, code: int | None = 0, timeout_s: float = COMMAND_S, stdin: str = "") -> Result:
        """Run it to its end. ``code``: the exit code to insist on; None takes any."""
        done = subprocess.run(
            [*self.command, *map(str, words)],
            cwd=self.folder,
            env=self.environment,
            input=stdin,
            capture_output=True,
            text=True,
            timeout=timeout_s,
            check=False,
        )
        result = Result(done.returncode, done.stdout, done.stderr)
        assert "Traceback" not in result.text, result.text
        assert code is None or result.code == code, f"exit code {result.code}, expected {code}:\n{result.text}"
        return result

    def start(self, *words: object) -> subprocess.Popen[str]:
        """Start it in a session of its own; the end of the test ends it and what it left."""
        process = subprocess.Popen(
            [*self.command, *map(str, words)],
            cwd=self.folder,
            env=self.environment,
            stdin=subprocess.DEVNULL,
            stdout=subprocess.PIPE,
            stderr=subprocess.PIPE,
            text=True,
            start_new_session=True,
        )
        self._started.append(process)
        return process

    def processes(self) -> list[int]:
        """Every live process that came of a command of this object, by the environment that they inherit."""
        mark = f"CAGEMATCH_TEST_MARK={self.environment['CAGEMATCH_TEST_MARK']}".encode()
        found = []
        for entry in Path("/proc").iterdir():
            with suppress(OSError):
                if entry.name.isdigit() and mark in (entry / "environ").read_bytes().split(b"\0"):
                    found.append(int(entry.name))
        return found

    def close(self) -> None:
        """End what is still running."""
        for process in self._started:
            if process.poll() is None:
                process.kill()
            process.communicate()
        with suppress(TimeoutError):
            until(lambda: not self.processes())
        for pid in self.processes():
            with suppress(ProcessLookupError):
                os.kill(pid, signal.SIGKILL)


def until(holds: Callable[[], object], within_s: float = 30.0) -> None:
    """Wait for a condition; TimeoutError when it does not come to hold."""
    over = time.monotonic() + within_s
    while not holds():
        if time.monotonic() > over:
            raise TimeoutError
        time.sleep(0.02)


def make_scheduler(folder: Path, **environment: str) -> Scheduler:
    """The console script beside this interpreter, or the checkout's own code where none is installed."""
    clean = {
        name: value
        for name, value in os.environ.items()
        if not name.startswith(("CAGEMATCH_", "PYTHON", "COLUMNS", "LINES")) and name not in ("FORCE_COLOR", "CI")
    }
    clean |= {"CAGEMATCH_LOCKS": str(folder.parent / f"{folder.name}-locks"), "CAGEMATCH_TEST_MARK": uuid.uuid4().hex}
    script = shutil.which("scheduler", path=str(Path(sys.executable).parent))
    if script:
        return Scheduler(folder, [script], clean | environment)
    # -P: what lies in the working folder must not take the place of our packages.
    command = [sys.executable, "-P", "-c", "from scheduler.cli import main; main()"]
    return Scheduler(folder, command, clean | {"PYTHONPATH": str(ROOT)} | environment)


@pytest.fixture
def scheduler(tmp_path: Path) -> Iterator[Scheduler]:
    """The command in an empty folder: ``scheduler("submit", "hard").stdout``."""
    folder = tmp_path / "work"
    folder.mkdir()
    made = make_scheduler(folder)
    yield made
    made.close()
