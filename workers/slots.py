"""The slots of a worker process: each is a thread of Celery's pool with a keeper of its own."""

from __future__ import annotations

import os
import threading
from contextlib import suppress
from importlib.metadata import PackageNotFoundError
from importlib.metadata import version as distribution_version
from typing import Any

from celery import Celery
from sqlalchemy import Connection, Engine, insert, select, update
from sqlalchemy.exc import SQLAlchemyError

from models import Host, Worker
from models.base import now
from models.engine import insert_new, writing
from models.schema import HEAD
from problems.errors import SandboxError
from workers.cage import Cage
from workers.host import Survey, digest, host_facts, host_name, survey
from workers.spool import Spool

SURVEY_WAIT_S = 2.0  # for a free core; a host that is busy for longer is measured as it is


def program_version() -> str:
    """The version of this program."""
    try:
        return distribution_version("cagematch")
    except PackageNotFoundError:
        return "unknown"


class Slots:
    """What the slots share: the engine, the worker's row, and whether it is time to stop."""

    def __init__(self, engine: Engine, app: Celery, *, slots: int, queues: list[str], versions: dict[str, str]) -> None:
        self.engine = engine
        self.app = app
        self.count = slots
        self.spool = Spool(engine.url)
        if not app.connections.embedded:
            self.spool.require()
        self.stopping = threading.Event()
        self._local = threading.local()
        self._cages: set[Cage] = set()
        # Taken again by the same thread when a second signal comes while the first is being served.
        self._guard = threading.RLock()
        self.worker_id = self._register(slots, queues, versions)

    def cage(self) -> Cage:
        """The cage of the calling thread; a new one when it has none or its keeper has died."""
        cage: Cage | None = getattr(self._local, "cage", None)
        if cage is None:
            with self._guard:
                if self.stopping.is_set():
                    raise SandboxError("the worker is stopping")
                cage = Cage()
                self._cages.add(cage)
            self._local.cage = cage
        return cage

    def drop_cage(self) -> None:
        """Forget the calling thread's cage, whose keeper is gone."""
        cage: Cage | None = getattr(self._local, "cage", None)
        if cage is not None:
            self._local.cage = None
            with self._guard:
                self._cages.discard(cage)
            cage.close()

    def stop(self) -> None:
        """Have every keeper kill what it runs, now; the slots put their shards back and end."""
        with self._guard:
            self.stopping.set()
            for cage in self._cages:
                with suppress(OSError):  # its keeper has just died by itself
                    cage.kill()

    def leave(self) -> None:
        """Note that the worker has ended; where that is not to be had, its silence tells the others."""
        self.stop()
        with suppress(SQLAlchemyError), writing(self.engine) as connection:
            connection.execute(update(Worker).where(Worker.id == self.worker_id).values(stopped_at=now()))
        self.engine.dispose()

    def beat(self) -> None:
        """Note that the worker is alive."""
        with writing(self.engine) as connection:
            connection.execute(update(Worker).where(Worker.id == self.worker_id).values(heartbeat_at=now()))

    def _register(self, slots: int, queues: list[str], versions: dict[str, str]) -> int:
        found = survey(SURVEY_WAIT_S)
        values: dict[str, Any] = {
            "pid": os.getpid(),
            "program": program_version(),
            "queues": queues,
            "versions": versions,
            "slots": slots,
            "schema": HEAD,
            "reference_s": found.reference_s,
        }
        with writing(self.engine) as connection:
            row = insert(Worker).values(
                host_id=_host(connection, found), started_at=now(), heartbeat_at=now(), **values
            )
            return int(connection.execute(row.returning(Worker.id)).scalar_one())


def _host(connection: Connection, found: Survey) -> int:
    """The row of this host, which another worker of it may be making at this moment too."""
    name, facts = host_name(), host_facts() | {"memory_limit": found.memory_limit}
    known = digest(name, facts)
    insert_new(connection, Host.__table__, [{"name": name, "facts": facts, "digest": known}])
    return connection.scalars(select(Host.id).where(Host.digest == known)).one()
