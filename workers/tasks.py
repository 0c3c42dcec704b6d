"""The Celery tasks: a number in, a call, nothing out."""

from __future__ import annotations

from typing import Any

from celery import shared_task

from workers.app import TASK
from workers.shifts import work_on


@shared_task(bind=True, name=TASK)
def solve_shard(self: Any, shard_id: int) -> None:
    """Work on a shard for one shift."""
    work_on(int(shard_id), self.app.slots)
