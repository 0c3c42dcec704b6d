"""The command ``cancel``."""

from __future__ import annotations

from cagematch.scheduler.cli import options
from cagematch.scheduler.cli.connection import connect
from cagematch.scheduler.cli.output import output, plural

EXAMPLES = ("scheduler cancel", "scheduler cancel 1")


def cancel(batch: options.Batch = None) -> None:
    """Cancel the unfinished runs of a batch.

    In-flight runs are killed and not stored. Stored runs stay, and `scheduler resume` runs the rest.
    """
    from cagematch.scheduler.batches import lookup, transitions

    _, engine = connect()
    batch_id = lookup.find_batch(engine, batch)
    if cancelled := transitions.cancel(engine, batch_id):
        output().print(
            f"batch {batch_id}: {plural(cancelled, 'run')} cancelled; `scheduler resume {batch_id}` resumes them"
        )
    else:
        output().print(f"batch {batch_id} has no unfinished runs to cancel")
