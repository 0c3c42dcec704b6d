"""The slots of a worker process: each is a thread of Celery's pool with a keeper of its own."""

from __future__ import annotations

import os
import threading
from importlib.metadata import PackageNotFoundError
from importlib.metadata import version as distribution_version
from typing import Any

from celery import Celery
from sqlalchemy import Engine, select, update

from models import Host, Worker
from models.base import now
from models.engine import writing
from models.schema import HEAD
from problems.errors import SandboxError
from workers.cage import Cage
from workers.host import digest, host_facts, host_name, reference_s


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
        self.stopping = threading.Event()
        self._local = threading.local()
        self._cages: set[Cage] = set()
        self._guard = threading.Lock()
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
                cage.kill()

    def leave(self) -> None:
        """Note that the worker has ended."""
        self.stop()
        with writing(self.engine) as connection:
            connection.execute(update(Worker).where(Worker.id == self.worker_id).values(stopped_at=now()))
        self.engine.dispose()

    def beat(self) -> None:
        """Note that the worker is alive."""
        with writing(self.engine) as connection:
            connection.execute(update(Worker).where(Worker.id == self.worker_id).values(heartbeat_at=now()))

    def _register(self, slots: int, queues: list[str], versions: dict[str, str]) -> int:
        name, facts, reference = host_name(), host_facts(), reference_s()
        values: dict[str, Any] = {
            "pid": os.getpid(),
            "program": program_version(),
            "queues": queues,
            "versions": versions,
            "slots": slots,
            "schema": HEAD,
            "reference_s": reference,
        }
        with writing(self.engine) as connection:
            row = Host.__table__
            known = connection.scalar(select(Host.id).where(Host.digest == digest(name, facts)))
            host_id = (
                known
                or connection.execute(
                    row.insert().values(name=name, facts=facts, digest=digest(name, facts)).returning(Host.id)
                ).scalar_one()
            )
            insert = Worker.__table__.insert().values(host_id=host_id, started_at=now(), heartbeat_at=now(), **values)
            return int(connection.execute(insert.returning(Worker.id)).scalar_one())
