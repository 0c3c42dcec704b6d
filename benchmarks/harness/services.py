"""Redis and PostgreSQL for the figures that need them: separate databases, created for each measurement."""

from __future__ import annotations

import os
from collections.abc import Iterator
from contextlib import contextmanager
from dataclasses import dataclass

import redis
from redis.exceptions import RedisError
from sqlalchemy import create_engine, make_url, text
from sqlalchemy.exc import OperationalError

REDIS = "redis://127.0.0.1:6379/9"
POSTGRESQL = "postgresql+psycopg://postgres@127.0.0.1:5432/test"
OWN_DATABASE = "cagematch_benchmark"
OWN_NUMBER = 13  # The number of our Redis database.
MARKER = "cagematch:benchmark"  # A key that marks the Redis database as one that the benchmarks may clear.


@dataclass(frozen=True, slots=True)
class Services:
    """The addresses of a broker and a database for benchmarks only."""

    broker: str
    database: str
    versions: str

    @property
    def environment(self) -> dict[str, str]:
        """The variables with which the commands use them."""
        return {"CAGEMATCH_BROKER_URL": self.broker, "CAGEMATCH_DATABASE_URL": self.database}

    @contextmanager
    def fresh(self) -> Iterator[None]:
        """Create both empty, and remove them at the end of the block."""
        self._clear()
        redis.Redis.from_url(self.broker).set(MARKER, "1")
        _administer(f"CREATE DATABASE {OWN_DATABASE}")
        try:
            yield
        finally:
            self._clear()

    def _clear(self) -> None:
        redis.Redis.from_url(self.broker).flushdb()
        _administer(f"DROP DATABASE IF EXISTS {OWN_DATABASE} WITH (FORCE)")


def find_services() -> Services | None:
    """Return databases on the servers of the tests, None where one of them does not answer.

    Raises
    ------
    SystemExit
        The Redis database contains keys of another program.
    """
    broker = make_url(os.environ.get("CAGEMATCH_TEST_REDIS_URL", REDIS)).set(database=str(OWN_NUMBER))
    address = broker.render_as_string(hide_password=False)
    try:
        redis_version = redis.Redis.from_url(address).info("server")["redis_version"]
        foreign = redis.Redis.from_url(address).dbsize() and not redis.Redis.from_url(address).exists(MARKER)
        server = _administer("SHOW server_version")
    except (RedisError, OperationalError):
        return None
    if foreign:
        raise SystemExit(
            f"Redis database {OWN_NUMBER} contains keys of another program, which the benchmark would delete; "
            "set CAGEMATCH_TEST_REDIS_URL to another server"
        )
    database = make_url(_server()).set(database=OWN_DATABASE).render_as_string(hide_password=False)
    return Services(address, database, f"Redis {redis_version}, PostgreSQL {server.split()[0]}")


def _server() -> str:
    return os.environ.get("CAGEMATCH_TEST_DATABASE_URL", POSTGRESQL)


def _administer(statement: str) -> str:
    engine = create_engine(_server(), isolation_level="AUTOCOMMIT")
    try:
        with engine.connect() as connection:
            result = connection.execute(text(statement))
            return str(result.scalar()) if result.returns_rows else ""
    finally:
        engine.dispose()
