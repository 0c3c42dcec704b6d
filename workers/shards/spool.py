"""The spool: finished runs that the database could not take yet, in files that outlive their worker.

A file belongs to one lease and is locked while its shift lives, so another worker of the host takes only what a lost
worker left behind. The first line holds the lease. Each further line holds runs that were finished together, and is on
the disk before the worker relies on it. A torn line is ignored: its runs are repeated.
"""

from __future__ import annotations

import fcntl
import hashlib
import os
from contextlib import suppress
from dataclasses import dataclass
from io import FileIO
from pathlib import Path

import msgspec
from sqlalchemy import URL, make_url

from cagematch.problems.errors import ServiceError
from cagematch.workers.machine.units import BYTES_PER_MIB
from cagematch.workers.shards.conditions import HostConditions
from cagematch.workers.shards.leases import ShardLease
from cagematch.workers.shards.rows import RunRow

FOLDER, LIMIT = "CAGEMATCH_SPOOL", "CAGEMATCH_SPOOL_MIB"  # environment variables
LIMIT_MIB = 64


class _FirstLine(msgspec.Struct, frozen=True):
    """The first line of a file: the lease, as `ShardLease` has it."""

    shard_id: int
    token: str
    batch_id: int
    created_at: float
    queue: str
    stop: int


class _Line(msgspec.Struct, frozen=True):
    """Every other line: runs that were finished together, and the position of the shard after them."""

    position: int
    rows: list[RunRow]
    seen: HostConditions


@dataclass(frozen=True, slots=True)
class SpooledRuns:
    """Finished runs of a lease that are not in the database.

    Attributes
    ----------
    position
        The position of the shard after these runs.
    conditions
        The state of the host during their shift.
    """

    lease: ShardLease
    position: int
    rows: list[RunRow]
    conditions: HostConditions


class Spool:
    """The folder of one database, shared by the workers of a host. It is created when something is kept."""

    def __init__(self, database: URL | str) -> None:
        self.folder = _root() / _digest(make_url(database))
        self.limit_bytes = _limit_mib() * BYTES_PER_MIB

    def require(self) -> None:
        """Raise ServiceError where nothing can be kept."""
        try:
            self._create_folder()
            probe = self.folder / f"probe-{os.getpid()}"
            probe.touch()
            probe.unlink()
        except OSError as error:
            raise ServiceError(
                f"results cannot be kept during an outage of the database: {error}; "
                f"set {FOLDER} to a folder that you may write to"
            ) from error

    def room_bytes(self) -> int:
        """How many more bytes fit."""
        used = 0
        for path in self.files():
            with suppress(OSError):
                used += path.stat().st_size
        return self.limit_bytes - used

    def files(self) -> list[Path]:
        """All files."""
        return sorted(self.folder.glob("*.jsonl"))

    def create(self, lease: ShardLease) -> SpoolFile:
        """Create the file of a lease. Raises OSError where there is no room for it."""
        self._create_folder()
        file = SpoolFile(self, self.folder / f"{lease.token}.jsonl", "x+")
        first = _FirstLine(lease.shard_id, lease.token, lease.batch_id, lease.created_at, lease.queue, lease.stop)
        if not file.append(msgspec.json.encode(first)):
            file.remove()
            raise OSError(f"there is no room in {self.folder}")
        return file

    def abandoned(self, path: Path) -> SpoolFile | None:
        """The file of a lost worker; None where its shift is alive, or another process handles it."""
        try:
            file = SpoolFile(self, path, "r")
        except OSError:  # locked, or removed
            return None
        if path.exists() and file.is_own:
            return file
        file.close()
        return None

    def _create_folder(self) -> None:
        self.folder.mkdir(mode=0o700, parents=True, exist_ok=True)


class SpoolFile:
    """The file of one lease, locked until it is closed."""

    def __init__(self, spool: Spool, path: Path, mode: str) -> None:
        self._spool, self.path = spool, path
        self._file = FileIO(path, mode)
        try:
            fcntl.flock(self._file, fcntl.LOCK_EX | fcntl.LOCK_NB)
        except OSError:
            self.close()
            raise

    @property
    def is_own(self) -> bool:
        """Whether this user wrote it: in a shared folder, another user could forge results."""
        return os.fstat(self._file.fileno()).st_uid == os.geteuid()

    def keep(self, position: int, rows: list[RunRow], conditions: HostConditions) -> bool:
        """Append runs; return False where they do not fit."""
        return self.append(msgspec.json.encode(_Line(position, rows, conditions)))

    def append(self, line: bytes) -> bool:
        """Append a line and sync it to the disk; a line that does not fit leaves nothing behind."""
        data = line + b"\n"
        if len(data) > self._spool.room_bytes():
            return False
        before = self._file.tell()
        try:
            while data:
                data = data[self._file.write(data) or 0 :]
            os.fsync(self._file.fileno())
            if not before:
                _sync(self.path.parent)
        except OSError:
            with suppress(OSError):
                self._file.truncate(before)
                self._file.seek(before)
            return False
        return True

    def read(self) -> SpooledRuns | None:
        """Return the runs up to a torn line; None without any.

        Raises
        ------
        ValueError
            A line is not in the form that this version writes.
        """
        whole, _, _torn = self._file.readall().rpartition(b"\n")
        first, *kept = whole.splitlines() or [b""]
        if not kept:
            return None
        try:
            lease = ShardLease(**msgspec.structs.asdict(msgspec.json.decode(first, type=_FirstLine)))
            lines = [msgspec.json.decode(line, type=_Line) for line in kept]
        except msgspec.MsgspecError as error:
            raise ValueError(f"{self.path}: {error}") from error
        return SpooledRuns(lease, lines[-1].position, [row for line in lines for row in line.rows], lines[-1].seen)

    def close(self) -> None:
        """Unlock it for the next worker."""
        self._file.close()

    def set_aside(self) -> Path:
        """Rename it, so that no worker handles it again; return the new path."""
        return self.path.rename(self.path.with_suffix(".refused"))

    def remove(self) -> None:
        """Delete and unlock it."""
        self.path.unlink(missing_ok=True)
        self.close()


def _root() -> Path:
    """CAGEMATCH_SPOOL, or a folder of the user that survives a restart of the host."""
    setting = os.environ.get(FOLDER)
    state = os.environ.get("XDG_STATE_HOME") or "~/.local/state"
    return Path(setting or f"{state}/cagematch/spool").expanduser()


def _limit_mib() -> int:
    setting = os.environ.get(LIMIT) or str(LIMIT_MIB)
    if not (setting.isascii() and setting.isdigit() and len(setting) < 8):
        raise ServiceError(f"{LIMIT} is {setting!r}; expected a whole number of MiB")
    return int(setting)


def _digest(database: URL) -> str:
    """Identifies a database by its place, independent of the user who connects."""
    name = database.database or ""
    if database.get_backend_name() == "sqlite":
        name = str(Path(name).resolve())
    place = f"{database.get_backend_name()} {database.host} {database.port} {name}"
    return hashlib.sha256(place.encode()).hexdigest()[:16]


def _sync(folder: Path) -> None:
    """Sync the folder's entries to the disk."""
    descriptor = os.open(folder, os.O_RDONLY | os.O_DIRECTORY)
    try:
        os.fsync(descriptor)
    finally:
        os.close(descriptor)
