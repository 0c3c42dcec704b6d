"""The command ``watch``."""

from __future__ import annotations

from cagematch.scheduler.cli import options
from cagematch.scheduler.cli.connection import connect
from cagematch.scheduler.cli.output import notes
from cagematch.scheduler.cli.progress import follow, follow_workers, interruptible

PATIENCE_S = 10.0  # how long to wait for a database that restarts; once it has answered, an outage may last any time
EXAMPLES = ("scheduler watch", "scheduler watch 1")


def watch(batch: options.Batch = None) -> None:
    """Show the progress of a batch until it ends."""
    from cagematch.scheduler.batches.lookup import find_batch
    from cagematch.scheduler.live.outages import retry_during_outage
    from cagematch.scheduler.live.status import abandonment_check

    with interruptible(f"`scheduler watch {batch or ''}".rstrip() + "` shows the progress again"):
        connections, engine = connect(reads_only=True, wait_s=PATIENCE_S)
        batch_id = retry_during_outage(engine, lambda: find_batch(engine, batch), notes(), PATIENCE_S)
    if connections.embedded:
        follow(engine, batch_id, abandonment_check(engine, batch_id))
    else:
        follow_workers(connections, engine, batch_id)
