"""Redis and PostgreSQL for the figures that need them: a database of our own, made anew for each measurement."""

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
OWN_NUMBER = 13  # of the Redis database
MARKER = "cagematch:benchmark"  # a key that says it is ours to clear


@dataclass(frozen=True, slots=True)
class Services:
    """Addresses of a broker and a database that hold nothing but ours."""

    broker: str
    database: str
    versions: str

    @property
    def environment(self) -> dict[str, str]:
        """What tells the commands to use them."""
        return {"CAGEMATCH_BROKER_URL": self.broker, "CAGEMATCH_DATABASE_URL": self.database}

    @contextmanager
    def fresh(self) -> Iterator[None]:
        """Both empty at the start, and gone at the end."""
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
    """Ours, on the servers that the tests use; None where one of them does not answer.

    Raises SystemExit when the Redis database with our number holds something of somebody else's.
    """
    broker = make_url(os.environ.get("CAGEMATCH_TEST_REDIS_URL", REDIS)).set(database=str(OWN_NUMBER))
    address = broker.render_as_string(hide_password=False)
    try:
        told = redis.Redis.from_url(address).info("server")["redis_version"]
        strange = redis.Redis.from_url(address).dbsize() and not redis.Redis.from_url(address).exists(MARKER)
        server = _administer("SHOW server_version")
    except (RedisError, OperationalError):
        return None
    if strange:
        raise SystemExit(f"Redis database {OWN_NUMBER} is somebody else's; the benchmark would clear it")
    database = make_url(_server()).set(database=OWN_DATABASE).render_as_string(hide_password=False)
    return Services(address, database, f"Redis {told}, PostgreSQL {server.split()[0]}")


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
