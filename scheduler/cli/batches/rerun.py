"""The command ``rerun``."""

from __future__ import annotations

from cagematch.scheduler.cli import options
from cagematch.scheduler.cli.connection import connect
from cagematch.scheduler.cli.execution import run
from cagematch.scheduler.cli.output import notes
from cagematch.scheduler.cli.requirements import require_backends

EXAMPLES = ("scheduler rerun", "scheduler rerun 1")


def rerun(batch: options.Batch = None, wait: options.Wait = False) -> None:
    """Run a batch again and report what differs.

    The new batch has the same puzzles, configurations, seeds and limits. Differences are reported between machines,
    versions and times.
    """
    from cagematch.scheduler.batches import creation, differences, lookup

    connections, engine = connect()
    earlier = lookup.find_batch(engine, batch)
    plan = creation.plan_again(engine, earlier)
    require_backends(connections, engine, [c.backend for c in plan.configurations])
    later = creation.create(engine, plan)
    notes().print(f"batch {later} is a rerun of batch {earlier}")
    try:
        run(connections, engine, later, wait=wait)
    finally:
        for line in differences.compare(engine, earlier, later):
            notes().print(line, style="yellow" if line.startswith("warning") else None)
