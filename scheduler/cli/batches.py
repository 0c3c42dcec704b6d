"""Commands on batches that are there: status, watch, cancel, resume."""

from __future__ import annotations

import json
from typing import Annotated, Any

import typer

from cagematch.scheduler.cli.application import Batch, Wait, app, connect, notes, output
from cagematch.scheduler.cli.working import follow, follow_workers, go_on, interrupted

PATIENCE_S = 10.0  # for a database that is restarted; once there was an answer, `watch` waits for as long as it takes


@app.command()
def status(
    batch: Batch = None,
    as_json: Annotated[bool, typer.Option("--json", help="For programs.")] = False,
) -> None:
    """List the batches and the live workers. Says, too, what waits for a worker that is not there."""
    from cagematch.scheduler.batches.lookup import find_batch
    from cagematch.scheduler.live.outages import answers, retry_during_outage, unreachable
    from cagematch.scheduler.live.status import draw, status_of

    connections, engine = connect(quiet=as_json, reads_only=True, wait_s=PATIENCE_S)

    def ask() -> dict[str, Any]:
        return status_of(engine, find_batch(engine, batch) if batch else None, embedded=connections.embedded)

    found = retry_during_outage(engine, ask, notes(), PATIENCE_S)
    if not answers(connections.broker):
        notes().print(unreachable(connections.broker), style="yellow")
    if as_json:
        typer.echo(json.dumps(found, indent=2))
    else:
        draw(found, output(), detailed=batch is not None)


@app.command()
def watch(batch: Batch = None) -> None:
    """Show a batch's progress until it is done."""
    from cagematch.scheduler.batches.lookup import find_batch
    from cagematch.scheduler.live.outages import retry_during_outage
    from cagematch.scheduler.live.status import abandonment_check

    with interrupted(f"`scheduler watch {batch or ''}".rstrip() + "` shows it again"):
        connections, engine = connect(reads_only=True, wait_s=PATIENCE_S)
        batch_id = retry_during_outage(engine, lambda: find_batch(engine, batch), notes(), PATIENCE_S)
    if connections.embedded:
        follow(engine, batch_id, abandonment_check(engine, batch_id))
    else:
        follow_workers(connections, engine, batch_id)


@app.command()
def cancel(batch: Batch = None) -> None:
    """Drop a batch's unfinished runs at once. Runs under way are killed and do not count."""
    from cagematch.scheduler.batches import transitions
    from cagematch.scheduler.batches.lookup import find_batch

    _, engine = connect()
    batch_id = find_batch(engine, batch)
    if dropped := transitions.cancel(engine, batch_id):
        runs = "1 run" if dropped == 1 else f"{dropped:,} runs"
        output().print(f"batch {batch_id}: {runs} dropped; `scheduler resume {batch_id}` takes them up again")
    else:
        output().print(f"batch {batch_id} has nothing left to drop")


@app.command()
def resume(batch: Batch = None, wait: Wait = False) -> None:
    """Go on with an interrupted or cancelled batch. What is stored is not done again."""
    from cagematch.scheduler.batches.lookup import find_batch

    connections, engine = connect()
    go_on(connections, engine, find_batch(engine, batch), wait=wait)
