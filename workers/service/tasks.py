"""The Celery task that works on a shard."""

from __future__ import annotations

from typing import Any

from celery import shared_task
from celery.utils.log import get_logger

from cagematch.workers.queues.dispatch import send
from cagematch.workers.queues.names import TASK
from cagematch.workers.shards.shifts import work_on

log = get_logger(__name__)


@shared_task(bind=True, name=TASK)
def solve_shard(self: Any, shard_id: int) -> None:
    """Work on a shard for one shift."""
    try:
        work_on(int(shard_id), self.app.slots)
    except MemoryError:
        # Raised further it would end the worker, and the message would return with it. The shard's lease expires.
        log.exception("shard %s: the worker is out of memory", shard_id)
    if self.app.slots.stopping.is_set():
        # The message may have arrived after the stop, so it goes back for another worker. A duplicate does no harm.
        send(self.app, [(int(shard_id), self.request.delivery_info["routing_key"])])
