"""The spool: finished runs that the database could not take yet, in files that outlive their worker.

A file is one lease's and locked while its shift lives, so that only what a lost worker left behind is taken up by
another of the host. Its first line says which lease; each other holds runs that came together, and is on the disk
before anybody relies on it. A line that is torn is left out: its runs are done again.
"""

from __future__ import annotations

import fcntl
import hashlib
import json
import os
from contextlib import suppress
from dataclasses import dataclass, fields
from io import FileIO
from pathlib import Path
from typing import Any

from sqlalchemy import URL, make_url

from cagematch.problems.errors import ServiceError
from cagematch.workers.shards.leases import ShardLease
from cagematch.workers.shards.rows import RunRow

SPOOL, MOST = "CAGEMATCH_SPOOL", "CAGEMATCH_SPOOL_MIB"
MOST_MIB = 64
MIB = 1 << 20


@dataclass(frozen=True, slots=True)
class Late:
    """What a lease left in the spool: its runs, the position that they reach, and what their host was like."""

    lease: ShardLease
    position: int
    rows: list[RunRow]
    seen: dict[str, Any]


class Spool:
    """The folder of one database, which the workers of a host share. It is made when something is kept."""

    def __init__(self, database: URL | str) -> None:
        self.folder = _root() / _digest(make_url(database))
        self.most = _most_mib() * MIB

    def require(self) -> None:
        """Raise ServiceError where nothing can be kept here."""
        try:
            self._make()
            probe = self.folder / f"probe-{os.getpid()}"
            probe.touch()
            probe.unlink()
        except OSError as error:
            raise ServiceError(
                f"results could not be kept while the database is away: {error}; set {SPOOL} to a folder of your own"
            ) from error

    def room(self) -> int:
        """How many bytes it may still take."""
        used = 0
        for path in self.files():
            with suppress(OSError):
                used += path.stat().st_size
        return self.most - used

    def files(self) -> list[Path]:
        """All of its files."""
        return sorted(self.folder.glob("*.jsonl"))

    def begin(self, lease: ShardLease) -> SpoolFile:
        """Make the file of a lease."""
        self._make()
        made = SpoolFile(self, self.folder / f"{lease.token}.jsonl", "x+")
        if not made.write({field.name: getattr(lease, field.name) for field in fields(ShardLease)}):
            made.remove()
            raise OSError(f"there is no room in {self.folder}")
        return made

    def left(self, path: Path) -> SpoolFile | None:
        """The file of a worker that was lost; None where its shift lives, or another takes care of it."""
        try:
            found = SpoolFile(self, path, "r")
        except OSError:  # locked, or gone
            return None
        if path.exists() and found.is_ours:
            return found
        found.close()
        return None

    def _make(self) -> None:
        self.folder.mkdir(mode=0o700, parents=True, exist_ok=True)


class SpoolFile:
    """A lease's file, locked until it is closed."""

    def __init__(self, spool: Spool, path: Path, mode: str) -> None:
        self._spool, self.path = spool, path
        self._file = FileIO(path, mode)
        try:
            fcntl.flock(self._file, fcntl.LOCK_EX | fcntl.LOCK_NB)
        except OSError:
            self.close()
            raise

    @property
    def is_ours(self) -> bool:
        """Whether this user wrote it: in a folder of others, they could make up results."""
        return os.fstat(self._file.fileno()).st_uid == os.geteuid()

    def keep(self, position: int, rows: list[RunRow], seen: dict[str, Any]) -> bool:
        """Add runs; False where there is no room for them."""
        return self.write({"position": position, "rows": rows, "seen": seen})

    def write(self, line: dict[str, Any]) -> bool:
        """Add a line, which is on the disk afterwards; nothing of one that does not fit is left."""
        told = json.dumps(line).encode() + b"\n"
        if len(told) > self._spool.room():
            return False
        before = self._file.tell()
        try:
            while told:
                told = told[self._file.write(told) or 0 :]
            os.fsync(self._file.fileno())
            if not before:
                _sync(self.path.parent)
        except OSError:
            with suppress(OSError):
                self._file.truncate(before)
                self._file.seek(before)
            return False
        return True

    def read(self) -> Late | None:
        """What it holds, up to a line that is torn; None where that is nothing."""
        whole, _, _torn = self._file.readall().rpartition(b"\n")
        first, *kept = map(json.loads, whole.splitlines() or [b"{}"])
        if not kept:
            return None
        return Late(
            ShardLease(**first), kept[-1]["position"], [row for line in kept for row in line["rows"]], kept[-1]["seen"]
        )

    def close(self) -> None:
        """Leave it to whoever comes next."""
        self._file.close()

    def set_aside(self) -> Path:
        """Keep it under a name where nobody takes it up."""
        return self.path.rename(self.path.with_suffix(".refused"))

    def remove(self) -> None:
        """It has served."""
        self.path.unlink(missing_ok=True)
        self.close()


def _root() -> Path:
    """CAGEMATCH_SPOOL, or a folder of the user's that outlives a restart of the host."""
    told = os.environ.get(SPOOL)
    state = os.environ.get("XDG_STATE_HOME") or "~/.local/state"
    return Path(told or f"{state}/cagematch/spool").expanduser()


def _most_mib() -> int:
    told = os.environ.get(MOST) or str(MOST_MIB)
    if not (told.isascii() and told.isdigit() and len(told) < 8):
        raise ServiceError(f"{MOST} is {told!r}; expected a whole number of MiB")
    return int(told)


def _digest(database: URL) -> str:
    """Which database: by its place, whoever connects to it."""
    name = database.database or ""
    if database.get_backend_name() == "sqlite":
        name = str(Path(name).resolve())
    place = f"{database.get_backend_name()} {database.host} {database.port} {name}"
    return hashlib.sha256(place.encode()).hexdigest()[:16]


def _sync(folder: Path) -> None:
    """Let the folder's entries reach the disk, too."""
    descriptor = os.open(folder, os.O_RDONLY | os.O_DIRECTORY)
    try:
        os.fsync(descriptor)
    finally:
        os.close(descriptor)
