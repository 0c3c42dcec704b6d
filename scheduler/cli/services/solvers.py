"""The command ``solvers``."""

from __future__ import annotations

import json

import typer

from cagematch.problems.errors import CagematchError, first_line
from cagematch.scheduler.cli import options
from cagematch.scheduler.cli.connection import connect
from cagematch.scheduler.cli.output import output, warn

EXAMPLES = ("scheduler solvers", "scheduler solvers --json")


def solvers(as_json: options.Json = False) -> None:
    """List backends with their parameters, presets and groups.

    These are the values of the option -s of `scheduler submit`.
    """
    from cagematch.scheduler.inspection import solvers as listing

    found = listing.solvers(_live_slots(quiet=as_json))
    if as_json:
        typer.echo(json.dumps(found, indent=2))
    else:
        listing.draw(found, output())


def _live_slots(*, quiet: bool) -> dict[str, int] | None:
    """Return live slots by queue, or None when embedded or without a usable database."""
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
        warn(f"live slots unknown: {first_line(error)}")
        return None
