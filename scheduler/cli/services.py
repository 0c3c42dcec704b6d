"""Commands on services: worker, solvers, db."""

from __future__ import annotations

import json
import os
from typing import Annotated

import typer

from problems.errors import CagematchError, ServiceError
from scheduler.cli.application import app, connect, notes, output

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
    from workers.app import make_app
    from workers.connections import find_connections
    from workers.pools import installed, pools_named, queues
    from workers.topology import CORES, check_cores

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
    from scheduler import solvers as told

    found = told.solvers(_live_slots(quiet=as_json))
    if as_json:
        typer.echo(json.dumps(found, indent=2))
    else:
        told.draw(found, output())


def _live_slots(*, quiet: bool) -> dict[str, int] | None:
    """Live slots by queue; None where no worker lives elsewhere, or no database tells of them."""
    from sqlalchemy.exc import SQLAlchemyError

    from models.engine import reading
    from workers.connections import find_connections
    from workers.queueing import slots_of

    if find_connections().embedded:
        return None
    try:
        _, engine = connect(quiet=quiet, reads_only=True)
        with reading(engine) as connection:
            return slots_of(connection)
    except (CagematchError, SQLAlchemyError) as error:
        notes().print(f"live slots unknown: {str(error).splitlines()[0]}", style="yellow")
        return None


@database.command()
def upgrade() -> None:
    """Make the tables, or bring older ones up to date."""
    from models.engine import open_engine
    from models.schema import HEAD, SchemaState, require_current, schema_state
    from workers.app import make_app
    from workers.connections import find_connections
    from workers.lifecycle import check_broker

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
    from models.engine import open_engine
    from models.schema import HEAD, require_current
    from workers.connections import find_connections

    connections = find_connections()
    notes().print(str(connections), style="dim")
    require_current(open_engine(connections.database), upgrade_it=False)
    output().print(f"the database is of this program's version ({HEAD})")
