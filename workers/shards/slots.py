"""The slots of a worker process: each is a thread of Celery's pool with its own keeper."""

from __future__ import annotations

import os
import threading
from contextlib import suppress
from typing import Any

from celery import Celery
from sqlalchemy import Connection, Engine, insert, select, update
from sqlalchemy.exc import SQLAlchemyError

from cagematch import __version__
from cagematch.models import Host, Worker
from cagematch.models.base import now
from cagematch.models.engine import insert_new, writing
from cagematch.models.schema import HEAD
from cagematch.problems.errors import SandboxError
from cagematch.workers.keeper.client import KeeperClient
from cagematch.workers.machine.host import Survey, digest, host_facts, host_name, survey
from cagematch.workers.shards.spool import Spool

SURVEY_WAIT_S = 2.0  # for a free core; a host that is busy for longer is probed on a shared core


class Slots:
    """What the slots share: the engine, the worker's row, and whether the worker is stopping."""

    def __init__(self, engine: Engine, app: Celery, *, slots: int, queues: list[str], versions: dict[str, str]) -> None:
        self.engine = engine
        self.app = app
        self.count = slots
        self.spool = Spool(engine.url)
        if not app.connections.embedded:
            self.spool.require()
        self.stopping = threading.Event()
        self._local = threading.local()
        self._keepers: set[KeeperClient] = set()
        # Reentrant: a second signal may arrive in the thread that handles the first.
        self._guard = threading.RLock()
        self.worker_id = self._register(slots, queues, versions)

    def keeper(self) -> KeeperClient:
        """The keeper of the calling thread; a new one when it has none.

        Raises
        ------
        SandboxError
            The worker is stopping.
        """
        keeper: KeeperClient | None = getattr(self._local, "keeper", None)
        if keeper is None:
            with self._guard:
                if self.stopping.is_set():
                    raise SandboxError("the worker is stopping")
                keeper = KeeperClient()
                self._keepers.add(keeper)
            self._local.keeper = keeper
        return keeper

    def drop_keeper(self) -> None:
        """Close the calling thread's keeper, which has failed."""
        keeper: KeeperClient | None = getattr(self._local, "keeper", None)
        if keeper is not None:
            self._local.keeper = None
            with self._guard:
                self._keepers.discard(keeper)
            keeper.close()

    def stop(self) -> None:
        """Let every keeper kill its runs now; the slots return their shards to the queue and end."""
        with self._guard:
            self.stopping.set()
            for keeper in self._keepers:
                with suppress(OSError):  # the keeper has just ended
                    keeper.kill()

    def leave(self) -> None:
        """Store that the worker has ended; where that fails, its missing heartbeat shows it."""
        self.stop()
        with suppress(SQLAlchemyError), writing(self.engine) as connection:
            connection.execute(update(Worker).where(Worker.id == self.worker_id).values(stopped_at=now()))
        self.engine.dispose()

    def beat(self) -> None:
        """Store a heartbeat."""
        with writing(self.engine) as connection:
            connection.execute(update(Worker).where(Worker.id == self.worker_id).values(heartbeat_at=now()))

    def _register(self, slots: int, queues: list[str], versions: dict[str, str]) -> int:
        found = survey(SURVEY_WAIT_S)
        values: dict[str, Any] = {
            "pid": os.getpid(),
            "program": __version__,
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
    """The number of this host's row; another worker of the host may insert it at the same moment."""
    name, facts = host_name(), host_facts() | {"memory_limit": found.memory_limit}
    known = digest(name, facts)
    insert_new(connection, Host.__table__, [{"name": name, "facts": facts, "digest": known}])
    return connection.scalars(select(Host.id).where(Host.digest == known)).one()
