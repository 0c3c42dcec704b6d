"""Commands on services: worker, solvers, db."""

from __future__ import annotations

import os
from typing import Annotated

import typer

from problems.errors import ServiceError
from scheduler.cli.application import app, connect, notes, output

database = typer.Typer(no_args_is_help=True, help="Look after the database.", rich_markup_mode=None)
app.add_typer(database, name="db")


@app.command()
def worker(
    pool: Annotated[
        list[str], typer.Option("--pool", metavar="POOL", help="cp-sat, legacy-cp, mip, other or all; may be repeated.")
    ],
    slots: Annotated[
        int | None, typer.Option(min=1, help="Solves at once; as many as there are cores by default.")
    ] = None,
    log_level: Annotated[str, typer.Option(help="DEBUG, INFO, WARNING or ERROR.")] = "INFO",
) -> None:
    """Start a Celery worker that serves pools, until it is told to stop."""
    from workers.app import make_app
    from workers.connections import find_connections
    from workers.pools import installed, pools_named, queues

    pools = pools_named(pool)
    connections = find_connections()
    if connections.embedded:
        raise ServiceError(
            "a worker of its own needs a broker that other processes reach: set CAGEMATCH_BROKER_URL and "
            "CAGEMATCH_DATABASE_URL, or start the compose stack of this folder (embedded, `submit` brings its own worker)"
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
def solvers() -> None:
    """List the backends: installed, version, pool, tasks, what they handle, live workers."""
    from rich.table import Table

    from models.engine import reading
    from scheduler.batches import find_batch  # noqa: F401 - loads the tables before the engine is used
    from workers.backends import all_backends, entry, load, version
    from workers.configurations import GROUPS, PRESETS
    from workers.pools import pool_of, queue_of
    from workers.queueing import slots_of

    _, engine = connect()
    with reading(engine) as connection:
        serving = slots_of(connection)
    table = Table(box=None, pad_edge=False)
    for heading in ("backend", "version", "pool", "tasks", "constraints", "live slots", "parameters"):
        table.add_column(heading, overflow="fold")
    for name in all_backends():
        told = version(name)
        row = [name, told or f"not installed: pip install 'cagematch[{entry(name).extra or name}]'", pool_of(name)]
        if told:
            backend = load(name)
            parameters = ", ".join(f"{key}={p.default}" for key, p in backend.PARAMETERS.items())
            row += [", ".join(backend.TASKS), ", ".join(c.__name__ for c in backend.HANDLES)]
            row += [str(serving.get(queue_of(name), 0)), parameters]
        table.add_row(*row)
    console = output()
    console.print(table)
    for preset, full in PRESETS.items():
        console.print(f"{preset} = {full}", markup=False)
    for group, members in GROUPS.items():
        console.print(f"{group} = {', '.join(members)}", markup=False)


@database.command()
def upgrade() -> None:
    """Make the tables, or bring those of an older version up to date."""
    from models.engine import open_engine
    from models.schema import HEAD, SchemaState, require_current, schema_state
    from workers.app import make_app
    from workers.connections import find_connections
    from workers.lifecycle import check_broker

    connections = find_connections()
    notes().print(str(connections), style="dim", markup=False)
    engine = open_engine(connections.database)
    before = schema_state(engine)
    require_current(engine, upgrade_it=True)
    if not connections.embedded:
        check_broker(make_app(connections))
    done = "is up to date" if before is SchemaState.CURRENT else "was brought up to date"
    output().print(f"the database {done} (version {HEAD})")


@database.command()
def check() -> None:
    """Say whether the database is of this program's version; exit code 2 when it is not."""
    from models.schema import HEAD

    connect()
    output().print(f"the database is of this program's version ({HEAD})")
