"""Following a batch to its end: progress, outcomes, findings and the exit code."""

from __future__ import annotations

from contextlib import contextmanager
from typing import TYPE_CHECKING

import typer

from cagematch.scheduler.cli.output import notes, output, plural

if TYPE_CHECKING:
    from collections.abc import Callable, Iterator

    from sqlalchemy import Engine

    from cagematch.workers.connections import Connections

INTERRUPTED = 130  # exit code
FAILED_RUNS_SHOWN = 5


def follow_workers(connections: Connections, engine: Engine, batch_id: int) -> None:
    """Show the progress of workers in other processes, and print when the broker is unreachable."""
    from cagematch.scheduler.live.outages import broker_watch

    commands = f"`scheduler watch {batch_id}` shows the progress again, `scheduler cancel {batch_id}` cancels the rest"
    with interruptible(f"the workers continue with batch {batch_id}; {commands}"):
        follow(engine, batch_id, broker_watch(connections.broker, notes()))


@contextmanager
def interruptible(message: str) -> Iterator[None]:
    """Print a message and exit with code 130 when the block is interrupted with Ctrl-C."""
    try:
        yield
    except KeyboardInterrupt:
        notes().print(message)
        raise typer.Exit(INTERRUPTED) from None


def follow(engine: Engine, batch_id: int, check: Callable[[], None] | None = None) -> None:
    """Show the progress of a batch until it ends, then its outcomes and findings.

    Parameters
    ----------
    check
        Called regularly; it may raise to stop following.

    Raises
    ------
    typer.Exit
        With code 1 when a run is wrong or failed, or a puzzle is not proper.

    """
    from cagematch.scheduler.cli.findings import print_findings
    from cagematch.scheduler.live.progress import failed_runs
    from cagematch.scheduler.live.watch import conclusion, watch
    from cagematch.scheduler.reports.runs import refuted

    end = watch(engine, batch_id, notes(), check or (lambda: None))
    line, failed = conclusion(end)
    output().print(line)
    improper = print_findings(engine, batch_id)
    if wrong := refuted(engine, batch_id):
        are = "is" if wrong == 1 else "are"
        notes().print(
            f"{plural(wrong, 'run')} {are} WRONG: solutions of other runs refute the answer", style="bold red"
        )
    if failed:
        for line in failed_runs(engine, batch_id, FAILED_RUNS_SHOWN):
            notes().print(line, style="bold red")
        notes().print("`scheduler show RUN` shows the details of a run")
    if failed or improper or wrong:
        raise typer.Exit(1)
