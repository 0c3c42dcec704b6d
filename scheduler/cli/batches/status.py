"""The command ``status``."""

from __future__ import annotations

import json
from typing import Any

import typer

from cagematch.scheduler.cli import options
from cagematch.scheduler.cli.connection import connect
from cagematch.scheduler.cli.output import notes, output, warn

PATIENCE_S = 10.0  # how long to wait for a database that restarts
EXAMPLES = ("scheduler status", "scheduler status --json")


def status(batch: options.OneOrAll = None, as_json: options.Json = False) -> None:
    """List batches and live workers.

    Also lists backends with unfinished runs that no live worker serves. With BATCH, lists its configurations.
    """
    from cagematch.scheduler.batches.lookup import find_batch
    from cagematch.scheduler.live.outages import answers, retry_during_outage, unreachable
    from cagematch.scheduler.live.status import draw, status_of

    connections, engine = connect(quiet=as_json, reads_only=True, wait_s=PATIENCE_S)

    def query() -> dict[str, Any]:
        return status_of(engine, find_batch(engine, batch) if batch else None, embedded=connections.embedded)

    found = retry_during_outage(engine, query, notes(), PATIENCE_S)
    if not answers(connections.broker):
        warn(unreachable(connections.broker))
    if as_json:
        typer.echo(json.dumps(found, indent=2))
    else:
        draw(found, output(), detailed=batch is not None)
