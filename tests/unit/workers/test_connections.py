"""Addresses of services: ambiguous ones are errors, and no message contains a password."""

from __future__ import annotations

import traceback

import pytest

from cagematch.models.engine import open_engine, reading
from cagematch.problems.errors import ServiceError
from cagematch.workers.connections import find_connections, without_password

SECRET = "hunter2"
DATABASE, BROKER = "postgresql://127.0.0.1:1/c", "redis://127.0.0.1:1/0"


@pytest.mark.parametrize(
    ("address", "shown"),
    [
        ("postgresql+psycopg://me:hunter2@db/c", "postgresql+psycopg://me:***@db/c"),
        ("redis://:hunter2@host:6379/0", "redis://:***@host:6379/0"),
        ("redis://me:hun@ter2@host/0", "redis://me:***@host/0"),
        ("redis://me:hun/ter2@host/0", "redis://me:***@host/0"),
        ("redis://me:hun#t?er2@host/0", "redis://me:***@host/0"),
        ("postgresql://host/c?user=me&password=hunter2&x=1", "postgresql://host/c?user=me&password=***&x=1"),
        ("postgresql://host/c?sslPassword=hunter2", "postgresql://host/c?sslPassword=***"),
        ("sentinel://:a@one:1;sentinel://:hunter2@two:2", "sentinel://:***@two:2"),
        ("sqlite:////home/me@work/scheduler.db", "sqlite:////home/me@work/scheduler.db"),
        ("redis://host:6379/0", "redis://host:6379/0"),
        ("memory://", "memory://"),
    ],
)
def test_a_password_is_not_shown(address: str, shown: str):
    assert without_password(address) == shown


@pytest.mark.parametrize(
    ("database", "broker"),
    [
        (f"postgresql://me:{SECRET}/x@127.0.0.1:1/c", BROKER),
        (f"postgresql://me:x@{SECRET}@127.0.0.1:1/c", BROKER),
        (f"postgresql://me:x#{SECRET}@127.0.0.1:1/c", BROKER),
        (f"postgresql:me:{SECRET}@127.0.0.1:1/c", BROKER),
        (DATABASE, f"redis://me:{SECRET}/x@127.0.0.1:1/0"),
        (DATABASE, f"redis://me:x;{SECRET}@127.0.0.1:1/0"),
        (DATABASE, f"redis://me:{SECRET}?x@127.0.0.1:1/0"),
    ],
)
def test_an_ambiguous_address_is_an_error(monkeypatch, database: str, broker: str):
    monkeypatch.setenv("CAGEMATCH_DATABASE_URL", database)
    monkeypatch.setenv("CAGEMATCH_BROKER_URL", broker)

    with pytest.raises(ServiceError, match=r"CAGEMATCH_\w+_URL cannot be read; expected .* as %40") as error:
        find_connections()

    assert SECRET not in str(error.value)


@pytest.mark.parametrize(
    ("database", "broker"),
    [
        (f"postgresql://me:{SECRET}@127.0.0.1:1/c", f"redis://me:{SECRET}@127.0.0.1:1/0"),
        (f"postgresql://me:{SECRET}@127.0.0.1:port/c", f"redis://me:{SECRET}@127.0.0.1:port/0"),
        (f"postgresql://me:{SECRET}@[::1/c", f"redis://me:{SECRET}@127.0.0.1:99999/0"),
        (f"mysql://me:{SECRET}@127.0.0.1:1/c", f"carrier-pigeon://me:{SECRET}@127.0.0.1:1/0"),
        (f"postgresql://me:{SECRET}@127.0.0.1:1/c?connect_timeout=x", f"redis://me:{SECRET}@127.0.0.1:1/no"),
    ],
)
def test_errors_of_libraries_contain_no_password(monkeypatch, database: str, broker: str):
    from cagematch.workers.service.app import make_app

    monkeypatch.setenv("CAGEMATCH_DATABASE_URL", database)
    monkeypatch.setenv("CAGEMATCH_BROKER_URL", broker)
    connections = find_connections()
    assert SECRET not in str(connections)

    with pytest.raises(Exception) as of_database, reading(open_engine(database)):
        pass
    with pytest.raises(Exception) as of_broker, make_app(connections).connection_for_write() as connection:
        connection.ensure_connection(max_retries=1, interval_start=0)

    for error in (of_database, of_broker):
        assert SECRET not in "".join(traceback.format_exception(error.value))
