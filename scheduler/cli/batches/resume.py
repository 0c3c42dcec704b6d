"""The command ``resume``."""

from __future__ import annotations

from cagematch.scheduler.cli import options
from cagematch.scheduler.cli.connection import connect
from cagematch.scheduler.cli.execution import resume_batch

EXAMPLES = ("scheduler resume", "scheduler resume 1")


def resume(batch: options.Batch = None, wait: options.Wait = False) -> None:
    """Resume an interrupted or cancelled batch.

    Only runs that are not stored yet are run.
    """
    from cagematch.scheduler.batches.lookup import find_batch

    connections, engine = connect()
    resume_batch(connections, engine, find_batch(engine, batch), wait=wait)
