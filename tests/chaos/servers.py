"""A Redis and a PostgreSQL of one's own, to be stopped, killed and started again."""

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

START_S = 60.0


def free_port(address: str = "127.0.0.1") -> int:
    """A port where nobody listens."""
    with socket.socket() as probe:
        probe.bind((address, 0))
        return probe.getsockname()[1]


class Server:
    """A program that listens at a port. ``start`` returns when it answers."""

    def __init__(self, address: str = "127.0.0.1") -> None:
        self.address, self.port = address, free_port(address)
        self.process: subprocess.Popen[bytes] | None = None

    def start(self) -> None:
        """Start it, and wait until it answers."""
        self.process = subprocess.Popen(self.command(), stdout=subprocess.DEVNULL, stderr=subprocess.DEVNULL)
        until(lambda: self.answers() or self.process.poll() is not None, START_S)
        assert self.process.poll() is None, f"{self.command()[0]} ended with {self.process.returncode}"

    def stop(self, number: int = signal.SIGKILL) -> None:
        """End it, by default as a failure of power would."""
        if self.process is not None:
            self.process.send_signal(number)
            self.process.wait(START_S)
            self.process = None

    def command(self) -> list[str]:
        raise NotImplementedError

    def answers(self) -> bool:
        raise NotImplementedError


class Redis(Server):
    """A Redis that keeps nothing: started again, it is empty."""

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
    """A cluster of its own, in a folder that ``remove`` deletes. It does not run as root."""

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
        """At once, without a word to its clients. Killed, it would leave its children behind."""
        super().stop(number)

    def value(self, query: str) -> object:
        """One value."""
        return self.rows(query)[0][0]

    def rows(self, query: str) -> list[tuple[object, ...]]:
        """What the database holds."""
        with psycopg.connect(self.url, connect_timeout=5) as connection:
            return connection.execute(query).fetchall()

    def remove(self) -> None:
        """Stop it and delete its folder."""
        self.stop()
        shutil.rmtree(self.folder, ignore_errors=True)


def patiently(ask: Callable[[], object]) -> object:
    """What a database says, None while it is away."""
    try:
        return ask()
    except psycopg.OperationalError:
        return None
