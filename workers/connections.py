"""Where the database and the broker are, the first that applies:

1. CAGEMATCH_DATABASE_URL and CAGEMATCH_BROKER_URL, from the environment or from ``.env`` in the working folder;
2. the compose stack of the working folder, when its ``docker-compose.yml`` is here and its Redis answers;
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
MARKER = "cagematch:marker"  # a key that our workers keep in our Redis
EMBEDDED_DATABASE = "sqlite:///scheduler.db"
IN_MEMORY = "memory://"
PROBE_S = 0.5
ADDRESS = re.compile(r"[A-Za-z][A-Za-z0-9+.-]*://([^/?#]*)(.*)", re.DOTALL)  # who and where, and the rest
USER = re.compile(r"(://[^:/?#@]*:).*@", re.DOTALL)
ASKED_FOR = re.compile(r"([?&][^=&]*(?:pass|pwd|secret|token)[^=&]*=)[^&]*", re.IGNORECASE)


@dataclass(frozen=True, slots=True)
class Connections:
    """The two addresses, and how they were found, in words."""

    database: str
    broker: str
    found: str

    @property
    def embedded(self) -> bool:
        """Whether the broker lives in this process."""
        return self.broker.startswith("memory:")

    @property
    def local_file(self) -> bool:
        """Whether the database is a file of this folder."""
        return self.database.startswith("sqlite")

    def __str__(self) -> str:
        return f"{self.found}: {without_password(self.database)}, {without_password(self.broker)}"


def find_connections() -> Connections:
    """Find both; raise ServiceError where what is set makes no sense."""
    settings = _dotenv() | os.environ
    database, broker = settings.get(DATABASE), settings.get(BROKER)
    if database or broker:
        return _checked(database, broker)
    return _compose(settings)


def without_password(url: str) -> str:
    """An address fit to be shown, however badly it is written."""
    return ASKED_FOR.sub(r"\1***", USER.sub(r"\1***@", url))


def _checked(database: str | None, broker: str | None) -> Connections:
    if not database or not broker:
        missing, there = (DATABASE, BROKER) if not database else (BROKER, DATABASE)
        raise ServiceError(f"{there} is set and {missing} is not; set both, or neither to work embedded")
    _require_plain(DATABASE, [database], "postgresql://user:password@host/name or sqlite:///file")
    _require_plain(BROKER, broker.split(";"), "redis://user:password@host:port/number or memory://")
    connections = Connections(database, broker, "environment")
    if connections.local_file and not connections.embedded:
        raise ServiceError(
            "SQLite with a broker that other processes share is refused: SQLite is for one process, and workers "
            "elsewhere could not reach the file. Use PostgreSQL, or the broker memory://"
        )
    return connections


def _require_plain(name: str, addresses: list[str], expected: str) -> None:
    """Refuse what could be read in two ways: a part of the password would be taken for a host's name, and be shown."""
    for address in addresses:
        found = ADDRESS.fullmatch(address)
        cut = found and (found[1].count("@") > 1 or (":" in found[1] and "@" not in found[1] and "@" in found[2]))
        if not found or cut:
            hint = "a password's @ : / ? # ; and % are written %40 %3A %2F %3F %23 %3B %25"
            raise ServiceError(f"{name} cannot be read; expected {expected}, where {hint}")


def _dotenv() -> dict[str, str]:
    """The lines ``NAME=value`` of ``.env``; docker compose reads the same file."""
    try:
        lines = Path(".env").read_text(encoding="utf-8").splitlines()
    except (OSError, UnicodeDecodeError):
        return {}
    pairs = (line.split("=", 1) for line in map(str.strip, lines) if "=" in line and not line.startswith("#"))
    return {name.strip().removeprefix("export "): value.strip().strip("'\"") for name, value in pairs}


def _compose(settings: dict[str, str]) -> Connections:
    """The stack of this folder when it runs, embedded otherwise."""
    port = settings.get("CAGEMATCH_REDIS_PORT") or "16379"
    marked = _marked(int(port)) if Path("docker-compose.yml").is_file() and port.isdigit() else None
    if not marked:
        strange = f" (what answers on port {port} is no stack of Cagematch's that is ready)" if marked is False else ""
        return Connections(EMBEDDED_DATABASE, IN_MEMORY, f"embedded{strange}")
    password = quote(settings.get("CAGEMATCH_DATABASE_PASSWORD") or "cagematch", safe="")
    postgres = settings.get("CAGEMATCH_POSTGRES_PORT") or "15432"
    database = f"postgresql+psycopg://cagematch:{password}@127.0.0.1:{postgres}/cagematch"
    return Connections(database, f"redis://127.0.0.1:{port}/0", "this folder's compose stack")


def _marked(port: int) -> bool | None:
    """Whether what answers there is a Redis with our marker, None when nothing answers.

    Spoken by hand, as the client takes long to import.
    """
    try:
        with socket.create_connection(("127.0.0.1", port), PROBE_S) as connection:
            connection.settimeout(PROBE_S)
            connection.sendall(f"EXISTS {MARKER}\r\n".encode())
            return connection.recv(16).startswith(b":1")
    except (OSError, OverflowError):
        return None
