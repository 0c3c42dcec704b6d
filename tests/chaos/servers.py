"""A Redis and a PostgreSQL server for tests that stop, kill and restart them."""

from __future__ import annotations

import os
import shutil
import signal
import socket
import subprocess
import tempfile
from collections.abc import Callable
from pathlib import Path

import psycopg
import redis
from commanding import until

START_S = 60.0  # Seconds for a server to start or stop.


def free_port(address: str = "127.0.0.1") -> int:
    """Return an unused port."""
    with socket.socket() as probe:
        probe.bind((address, 0))
        return probe.getsockname()[1]


class Server:
    """A program that listens on a port."""

    def __init__(self, address: str = "127.0.0.1") -> None:
        self.address, self.port = address, free_port(address)
        self.process: subprocess.Popen[bytes] | None = None

    def start(self) -> None:
        """Start the server, and wait until it answers."""
        self.process = subprocess.Popen(self.command(), stdout=subprocess.DEVNULL, stderr=subprocess.DEVNULL)
        until(lambda: self.answers() or self.process.poll() is not None, START_S)
        assert self.process.poll() is None, f"{self.command()[0]} ended with {self.process.returncode}"

    def stop(self, number: int = signal.SIGKILL) -> None:
        """Send a signal and wait for the end; the default simulates a power failure."""
        if self.process is not None:
            self.process.send_signal(number)
            self.process.wait(START_S)
            self.process = None

    def command(self) -> list[str]:
        """Return the command line."""
        raise NotImplementedError

    def answers(self) -> bool:
        """Return whether the server accepts connections."""
        raise NotImplementedError


class Redis(Server):
    """A Redis without persistence: it is empty after a restart."""

    @property
    def url(self) -> str:
        return f"redis://{self.address}:{self.port}/0"

    def command(self) -> list[str]:
        words = ["redis-server", "--bind", self.address, "--port", str(self.port), "--protected-mode", "no"]
        return [*words, "--save", "", "--appendonly", "no", "--dir", tempfile.gettempdir()]

    def answers(self) -> bool:
        try:
            return bool(redis.Redis.from_url(self.url).ping())
        except redis.RedisError:
            return False


class Postgres(Server):
    """A PostgreSQL cluster in a temporary folder, which ``remove`` deletes. It runs as the user postgres."""

    def __init__(self, address: str = "127.0.0.1") -> None:
        super().__init__(address)
        self.programs = max(Path("/usr/lib/postgresql").glob("*/bin/initdb")).parent
        self.folder = Path(tempfile.mkdtemp(prefix="cagematch-postgres-", dir="/var/tmp"))
        self._user = ["setpriv", "--reuid", "postgres", "--regid", "postgres", "--init-groups"] * (os.geteuid() == 0)
        if self._user:
            shutil.chown(self.folder, "postgres", "postgres")
        made = [self.programs / "initdb", "-D", self.folder / "data", "-U", "postgres", "--auth", "trust", "--no-sync"]
        subprocess.run(
            [*self._user, *made, "--encoding", "UTF8", "--locale", "C.UTF-8"], check=True, capture_output=True
        )
        with (self.folder / "data" / "pg_hba.conf").open("a") as rules:
            rules.write("host all all samenet trust\n")

    @property
    def url(self) -> str:
        return f"postgresql://postgres@{self.address}:{self.port}/postgres"

    def command(self) -> list[str]:
        place = ["-D", str(self.folder / "data"), "-p", str(self.port), "-c", f"unix_socket_directories={self.folder}"]
        return [*self._user, str(self.programs / "postgres"), *place, "-c", f"listen_addresses={self.address}"]

    def answers(self) -> bool:
        try:
            psycopg.connect(self.url, connect_timeout=1).close()
        except psycopg.Error:
            return False
        return True

    def stop(self, number: int = signal.SIGQUIT) -> None:
        """Stop immediately, without notifying clients; SIGKILL would leave child processes."""
        super().stop(number)

    def value(self, query: str) -> object:
        """Return the first value of a query's result."""
        return self.rows(query)[0][0]

    def rows(self, query: str) -> list[tuple[object, ...]]:
        """Return the rows of a query's result."""
        with psycopg.connect(self.url, connect_timeout=5) as connection:
            return connection.execute(query).fetchall()

    def remove(self) -> None:
        """Stop the server, and delete its folder."""
        self.stop()
        shutil.rmtree(self.folder, ignore_errors=True)


def or_none(query: Callable[[], object]) -> object:
    """Return the result of a query, None while the database is unreachable."""
    try:
        return query()
    except psycopg.OperationalError:
        return None
