"""Connections of a command to the database and the broker."""

from __future__ import annotations

import os
from collections.abc import Iterator
from contextlib import contextmanager
from typing import TYPE_CHECKING

from cagematch.problems.errors import ServiceError
from cagematch.scheduler.cli.output import notes

if TYPE_CHECKING:
    from sqlalchemy import Engine

    from cagematch.workers.connections import Connections

WITHOUT_WRITING = "grant write permission, or use a command that only reads: report, export, show or status"


def connect(*, quiet: bool = False, reads_only: bool = False, wait_s: float = 0.0) -> tuple[Connections, Engine]:
    """Find the database and the broker, print them unless ``quiet``, and check the tables.

    Parameters
    ----------
    reads_only
        Create no file, and accept a database without write permission.
    wait_s
        Seconds to wait for an unreachable database.

    Raises
    ------
    ServiceError
        The database cannot be opened or written.
    SchemaError
        Its tables are missing or belong to another version.

    """
    from cagematch.models.engine import file_of, open_engine, writable
    from cagematch.models.schema import require_current
    from cagematch.scheduler.live.outages import retry_during_outage
    from cagematch.workers.connections import find_connections

    connections = find_connections()
    if not quiet:
        notes().print(str(connections), style="dim")
    may_write = writable(connections.database)
    if not (may_write or reads_only):
        raise ServiceError(f"{file_of(connections.database)} or its folder is not writable; {WITHOUT_WRITING}")
    engine = open_engine(connections.database, reads_only=reads_only)

    def check_tables() -> None:
        require_current(engine, upgrade_it=connections.local_file and may_write)

    with _explained(connections):
        if wait_s:
            retry_during_outage(engine, check_tables, notes(), wait_s)
        else:
            check_tables()
    return connections, engine


@contextmanager
def _explained(connections: Connections) -> Iterator[None]:
    """Name the SQLite file in the error when it cannot be opened; SQLite itself does not."""
    from sqlalchemy.exc import OperationalError

    from cagematch.models.engine import file_of, writable

    try:
        yield
    except OperationalError as error:
        file = file_of(connections.database)
        if file is None:
            raise
        reason = str(error.orig)
        if not os.access(file, os.R_OK):
            reason = "permission denied"
        elif not writable(connections.database):
            reason += (
                "; a journal next to the file shows that another process is writing, and reading then requires "
                "write permission for the file and its folder"
            )
        raise ServiceError(f"{file} cannot be read: {reason}") from None
