"""The addresses of the database and the broker. The first source that applies wins:

1. CAGEMATCH_DATABASE_URL and CAGEMATCH_BROKER_URL, from the environment or from ``.env`` in the working folder;
2. the compose stack of the working folder, if the folder contains ``docker-compose.yml`` and the stack's Redis answers;
3. embedded: ``scheduler.db`` in the working folder and a broker in memory.
"""

from __future__ import annotations

import os
import re
import socket
from dataclasses import dataclass
from pathlib import Path
from urllib.parse import quote

from cagematch.problems.errors import ServiceError

DATABASE, BROKER = "CAGEMATCH_DATABASE_URL", "CAGEMATCH_BROKER_URL"
MARKER = "cagematch:marker"  # A key that our workers set in Redis, so that `find_connections` recognises it.
EMBEDDED_DATABASE = "sqlite:///scheduler.db"
EMBEDDED_BROKER = "memory://"
PROBE_TIMEOUT_S = 0.5  # Seconds for the stack's Redis to answer.
DEFAULT_REDIS_PORT, DEFAULT_POSTGRES_PORT = "16379", "15432"  # As in docker-compose.yml.

ADDRESS = re.compile(r"[A-Za-z][A-Za-z0-9+.-]*://([^/?#]*)(.*)", re.DOTALL)  # Groups: user and host, and the rest.
USER_PASSWORD = re.compile(r"(://[^:/?#@]*:).*@", re.DOTALL)
QUERY_PASSWORD = re.compile(r"([?&][^=&]*(?:pass|pwd|secret|token)[^=&]*=)[^&]*", re.IGNORECASE)


@dataclass(frozen=True, slots=True)
class Connections:
    """The addresses of both services, and a description of where they were found."""

    database: str
    broker: str
    source: str

    @property
    def embedded(self) -> bool:
        """Whether the broker is in this process."""
        return self.broker.startswith("memory:")

    @property
    def local_file(self) -> bool:
        """Whether the database is a local file."""
        return self.database.startswith("sqlite")

    def __str__(self) -> str:
        return f"{self.source}: {without_password(self.database)}, {without_password(self.broker)}"


def find_connections() -> Connections:
    """Return the addresses of the first source that applies.

    Raises
    ------
    ServiceError
        Only one of the two variables is set, or an address is malformed or ambiguous, or SQLite is combined with a
        broker of several processes.
    """
    settings = _dotenv() | os.environ
    database, broker = settings.get(DATABASE), settings.get(BROKER)
    if database or broker:
        return _checked(database, broker)
    return _compose(settings)


def without_password(url: str) -> str:
    """Return an address with its passwords replaced by ``***``, even if the address is malformed."""
    return QUERY_PASSWORD.sub(r"\1***", USER_PASSWORD.sub(r"\1***@", url))


def _checked(database: str | None, broker: str | None) -> Connections:
    if not database or not broker:
        missing, present = (DATABASE, BROKER) if not database else (BROKER, DATABASE)
        raise ServiceError(f"{present} is set and {missing} is not; set both, or unset both to work embedded")
    _require_unambiguous(DATABASE, [database], "postgresql://user:password@host/name or sqlite:///file")
    _require_unambiguous(BROKER, broker.split(";"), "redis://user:password@host:port/number or memory://")
    connections = Connections(database, broker, "environment")
    if connections.local_file and not connections.embedded:
        raise ServiceError(
            f"{DATABASE} is SQLite and {BROKER} is a shared broker; workers on other hosts could not open the file. "
            "Use PostgreSQL, or the broker memory://"
        )
    return connections


def _require_unambiguous(name: str, addresses: list[str], expected: str) -> None:
    """Raise ServiceError for an address with unescaped delimiters.

    Part of its password would be parsed as the host's name, and printed.
    """
    for address in addresses:
        found = ADDRESS.fullmatch(address)
        split = found and (found[1].count("@") > 1 or (":" in found[1] and "@" not in found[1] and "@" in found[2]))
        if not found or split:
            hint = "write @ : / ? # ; and % in a password as %40 %3A %2F %3F %23 %3B %25"
            raise ServiceError(f"{name} cannot be read; expected {expected}; {hint}")


def _dotenv() -> dict[str, str]:
    """The variables in ``.env``, which docker compose reads as well."""
    try:
        lines = Path(".env").read_text(encoding="utf-8").splitlines()
    except (OSError, UnicodeDecodeError):
        return {}
    pairs = (line.split("=", 1) for line in map(str.strip, lines) if "=" in line and not line.startswith("#"))
    return {name.strip().removeprefix("export "): value.strip().strip("'\"") for name, value in pairs}


def _compose(settings: dict[str, str]) -> Connections:
    """The stack of this folder when it runs, embedded otherwise."""
    port = settings.get("CAGEMATCH_REDIS_PORT") or DEFAULT_REDIS_PORT
    ours = _has_marker(int(port)) if Path("docker-compose.yml").is_file() and port.isdigit() else None
    if not ours:
        note = f" (the service on port {port} is not a ready Cagematch stack)" if ours is False else ""
        return Connections(EMBEDDED_DATABASE, EMBEDDED_BROKER, f"embedded{note}")
    password = quote(settings.get("CAGEMATCH_DATABASE_PASSWORD") or "cagematch", safe="")
    postgres = settings.get("CAGEMATCH_POSTGRES_PORT") or DEFAULT_POSTGRES_PORT
    database = f"postgresql+psycopg://cagematch:{password}@127.0.0.1:{postgres}/cagematch"
    return Connections(database, f"redis://127.0.0.1:{port}/0", "this folder's compose stack")


def _has_marker(port: int) -> bool | None:
    """Whether the service on a port is a Redis with our marker, None when nothing answers.

    Sends the command directly, as importing the Redis client takes long.
    """
    try:
        with socket.create_connection(("127.0.0.1", port), PROBE_TIMEOUT_S) as connection:
            connection.settimeout(PROBE_TIMEOUT_S)
            connection.sendall(f"EXISTS {MARKER}\r\n".encode())
            return connection.recv(16).startswith(b":1")
    except (OSError, OverflowError):
        return None
