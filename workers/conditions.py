"""What a host was like while its runs were measured: kept with each shift, so that a report can tell which to doubt."""

from __future__ import annotations

import threading
import time
from dataclasses import asdict
from typing import Any

from celery.utils.log import get_logger
from sqlalchemy import Connection, insert, update

from models import Shift
from models.base import now
from problems.errors import SandboxError
from workers.health import Health
from workers.host import survey

REFERENCE_EVERY_S = 180.0
WAIT_S = 1.0  # for a free core: on a host that is never idle a measurement is left out
KEPT = ("seconds", "steal", "pressure", "load", "oversubscribed")
log = get_logger(__name__)


class Reference:
    """The fixed computation that shows a host which drifts: measured when the worker starts, and every few minutes."""

    def __init__(self, reference_s: float | None) -> None:
        self.latest_s = reference_s
        self._due = time.monotonic() + REFERENCE_EVERY_S
        self._busy = threading.Lock()

    def renew(self) -> None:
        """Measure again if it is time to, unless another slot does or no core is free."""
        if time.monotonic() < self._due or not self._busy.acquire(blocking=False):
            return
        try:
            self._due = time.monotonic() + REFERENCE_EVERY_S
            self.latest_s = survey(WAIT_S).reference_s or self.latest_s
        except SandboxError as error:
            log.warning("%s", error)
        finally:
            self._busy.release()


class Conditions:
    """One shift's row. It is written anew with each flush, so that a shift whose worker is lost has one, too."""

    def __init__(self, batch_id: int, worker_id: int, cores: list[int], reference: Reference) -> None:
        self._same = {"batch_id": batch_id, "worker_id": worker_id}
        self._cores, self._reference = cores, reference
        self._began = Health.read(cores)
        self._id: int | None = None

    def store(self, connection: Connection) -> int:
        """Write what has been seen so far; return the row's number."""
        values = self.seen()
        # The transaction that made it may have failed.
        there = self._id and connection.execute(update(Shift).where(Shift.id == self._id).values(**values)).rowcount
        if self._id is None or not there:
            made = insert(Shift).values(began_at=now(), **self._same, **values).returning(Shift.id)
            self._id = int(connection.execute(made).scalar_one())
        return self._id

    def seen(self) -> dict[str, Any]:
        """What the host was like up to now."""
        strain = asdict(Health.read(self._cores).since(self._began))
        return {name: strain[name] for name in KEPT} | {"reference_s": self._reference.latest_s}
