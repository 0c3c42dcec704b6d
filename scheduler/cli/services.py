"""Commands on services: worker, solvers, prune, db."""

from __future__ import annotations

import json
import os
from collections.abc import Iterator
from contextlib import contextmanager
from typing import TYPE_CHECKING, Annotated

import typer

from cagematch.problems.errors import CagematchError, InputError, ServiceError, first_line
from cagematch.scheduler.cli.application import app, connect, notes, output

if TYPE_CHECKING:
    from cagematch.scheduler.batches.callbacks import ProgressCallback
    from cagematch.scheduler.batches.retention import Deletion

NAMED = 5  # batches and sets that a line names

database = typer.Typer(no_args_is_help=True, help="Look after the database.", rich_markup_mode=None)
app.add_typer(database, name="db")


@app.command()
def worker(
    pool: Annotated[
        list[str], typer.Option("--pool", metavar="POOL", help="cp-sat, legacy-cp, mip, other or all; may be repeated.")
    ],
    slots: Annotated[
        int | None, typer.Option(metavar="N", min=1, help="Solves at once; as many as there are cores by default.")
    ] = None,
    cores: Annotated[
        str | None,
        typer.Option(metavar="LIST", help="The cores that solves may have, as 0-3 or 0,2-3; see docs/measuring.md."),
    ] = None,
    log_level: Annotated[str, typer.Option(metavar="LEVEL", help="DEBUG, INFO, WARNING or ERROR.")] = "INFO",
) -> None:
    """Start a Celery worker that serves pools. It works until it is told to stop."""
    from cagematch.workers.connections import find_connections
    from cagematch.workers.machine.topology import CORES, check_cores
    from cagematch.workers.queues.pools import installed, pools_named, queues
    from cagematch.workers.service.app import make_app

    pools = pools_named(pool)
    if cores is not None:
        check_cores(cores)
        os.environ[CORES] = cores  # its keepers read it too
    connections = find_connections()
    if connections.embedded:
        raise ServiceError(
            "a worker of its own needs a broker that other processes reach: set CAGEMATCH_BROKER_URL and "
            "CAGEMATCH_DATABASE_URL, or start this folder's compose stack (embedded, `submit` brings its own worker)"
        )
    backends = installed(pools)
    if not backends:
        raise ServiceError(f"none of the backends of {', '.join(pools)} is installed here")
    connect()
    name = f"{'-'.join(pools)}-{os.getpid()}@%h"
    arguments = [
        "worker",
        "-Q",
        ",".join(queues(list(backends))),
        "-n",
        name,
        "--loglevel",
        log_level,
        "--without-gossip",
    ]
    make_app(connections).worker_main([*arguments, *(["--concurrency", str(slots)] if slots else [])])


@app.command()
def solvers(as_json: Annotated[bool, typer.Option("--json", help="For programs.")] = False) -> None:
    """List the backends, their parameters, presets and groups. What -s of submit takes."""
    from cagematch.scheduler.inspection import solvers as told

    found = told.solvers(_live_slots(quiet=as_json))
    if as_json:
        typer.echo(json.dumps(found, indent=2))
    else:
        told.draw(found, output())


def _live_slots(*, quiet: bool) -> dict[str, int] | None:
    """Live slots by queue; None where no worker lives elsewhere, or no database tells of them."""
    from sqlalchemy.exc import SQLAlchemyError

    from cagematch.models.engine import reading
    from cagematch.workers.connections import find_connections
    from cagematch.workers.queues.dispatch import slots_of

    if find_connections().embedded:
        return None
    try:
        _, engine = connect(quiet=quiet, reads_only=True)
        with reading(engine) as connection:
            return slots_of(connection)
    except (CagematchError, SQLAlchemyError) as error:
        notes().print(f"live slots unknown: {first_line(error)}", style="yellow")
        return None


@app.command()
def prune(
    batches: Annotated[
        list[str] | None, typer.Argument(metavar="BATCH", help="Numbers or names of batches that are over.")
    ] = None,
    days: Annotated[
        float | None, typer.Option("--older-than", metavar="DAYS", min=0, help="Batches that ended so long ago, too.")
    ] = None,
    unused: Annotated[
        bool, typer.Option("--unused", help="Sets and puzzles, too, that no batch is made of then.")
    ] = False,
    sure: Annotated[bool, typer.Option("--yes", help="Do it; without this, only what would go is told.")] = False,
) -> None:
    """Delete batches with their runs for good. Export first what is to be kept."""
    from cagematch.scheduler.batches import retention as pruning
    from cagematch.scheduler.batches.lookup import find_batch

    if not batches and days is None and not unused:
        raise InputError("name batches to delete, or --older-than DAYS, or --unused")
    _, engine = connect()
    chosen = {find_batch(engine, word) for word in batches or []}
    chosen |= set(pruning.older_than(engine, days)) if days is not None else set()
    found = pruning.plan_deletion(engine, sorted(chosen), unused=unused)
    if found.nothing:
        output().print("there is nothing to delete")
        return
    told = _told(found)
    if not sure:
        output().print(f"would delete {told}; --yes does it, for good")
        return
    with _bar(found.runs + found.puzzles) as noticed:
        pruning.prune(engine, found, noticed)
    output().print(f"deleted {told}")


def _told(found: Deletion) -> str:
    """``batches 1, 2 with 300 runs; the set hard; 95 puzzles``."""
    count = len(found.batches)
    some = ", ".join(map(str, found.batches[:NAMED])) + (", …" if count > NAMED else "")
    parts = [f"batch{'es' * (count > 1)} {some} with {found.runs:,} run{'s' * (found.runs != 1)}"] if count else []
    if found.sets:
        names = ", ".join(found.sets[:NAMED]) + (", …" if len(found.sets) > NAMED else "")
        parts.append(f"the set{'s' * (len(found.sets) > 1)} {names}")
    if found.puzzles:
        parts.append(f"{found.puzzles:,} puzzle{'s' * (found.puzzles > 1)}")
    return "; ".join(parts)


@contextmanager
def _bar(total: int) -> Iterator[ProgressCallback]:
    from rich.progress import BarColumn, Progress, TextColumn

    columns = (TextColumn("deleting"), BarColumn(), TextColumn("{task.percentage:.0f} %"))
    console = notes()
    with Progress(*columns, console=console, transient=True, disable=not console.is_terminal) as bars:
        task = bars.add_task("", total=total)
        yield lambda done, of: bars.update(task, completed=done, total=of)


@database.command()
def upgrade() -> None:
    """Make the tables, or bring older ones up to date."""
    from cagematch.models.engine import open_engine
    from cagematch.models.schema import HEAD, SchemaState, require_current, schema_state
    from cagematch.workers.connections import find_connections
    from cagematch.workers.service.app import make_app
    from cagematch.workers.service.lifecycle import check_broker

    connections = find_connections()
    notes().print(str(connections), style="dim")
    engine = open_engine(connections.database)
    before = schema_state(engine)
    require_current(engine, upgrade_it=True)
    if not connections.embedded:
        check_broker(make_app(connections))
    done = "is up to date" if before is SchemaState.CURRENT else "was brought up to date"
    output().print(f"the database {done} (version {HEAD})")


@database.command()
def check() -> None:
    """Check the database's version. Exit code 2 when it is not this program's; nothing is changed."""
    from cagematch.models.engine import open_engine
    from cagematch.models.schema import HEAD, require_current
    from cagematch.workers.connections import find_connections

    connections = find_connections()
    notes().print(str(connections), style="dim")
    require_current(open_engine(connections.database), upgrade_it=False)
    output().print(f"the database is of this program's version ({HEAD})")
