"""The Typer application, and what several commands share: consoles, connections, units."""

from __future__ import annotations

import math
import os
import re
import sys
from collections.abc import Iterator
from contextlib import contextmanager
from typing import TYPE_CHECKING, Annotated

import typer

from cagematch.problems.errors import InputError, ServiceError

if TYPE_CHECKING:
    from rich.console import Console
    from sqlalchemy import Engine

    from cagematch.workers.connections import Connections

app = typer.Typer(
    name="scheduler",
    help="Puts constraint solvers in a cage with a batch of puzzles and reports who wins.",
    no_args_is_help=True,
    add_completion=False,
    pretty_exceptions_enable=False,
    rich_markup_mode=None,
    epilog="Exit codes: 0 done; 1 finished, but something is wrong or failed; 2 bad usage, input or service; "
    "130 interrupted.",
    context_settings={"help_option_names": ["-h", "--help"]},
)

SECONDS = {"ms": 0.001, "s": 1.0, "": 1.0, "m": 60.0, "min": 60.0, "h": 3600.0}
MEBIBYTES = {"": 1.0, "mib": 1.0, "m": 1.0, "mb": 1e6 / 2**20, "gib": 1024.0, "g": 1024.0, "gb": 1e9 / 2**20}
INTERRUPTED = 130  # the exit code
LARGEST = 1e6  # of any unit
LONGEST_S = 7 * 24 * 3600.0
QUANTITY = re.compile(r"([0-9]+(?:\.[0-9]+)?)\s*([a-zA-Z]*)")
Batch = Annotated[str | None, typer.Argument(metavar="BATCH", help="Number or name of a batch; the newest by default.")]

Wait = Annotated[bool, typer.Option("--wait", help="With Redis: show progress until the batch is done.")]


def _version(asked: bool) -> None:
    if asked:
        from cagematch import __version__

        typer.echo(f"cagematch {__version__}")
        raise typer.Exit


@app.callback()
def _root(
    debug: Annotated[bool, typer.Option("--debug", help="Show tracebacks.")] = False,
    version: Annotated[
        bool, typer.Option("--version", help="Print the version.", callback=_version, is_eager=True)
    ] = False,
) -> None:
    """What every command has."""


def output() -> Console:
    """Where results go."""
    from cagematch.scheduler.cli.consoles import steady

    return steady(sys.stdout)


def notes() -> Console:
    """Where everything else goes: progress, what is being used, warnings."""
    from cagematch.scheduler.cli.consoles import steady

    return steady(sys.stderr)


def connect(*, quiet: bool = False, reads_only: bool = False, wait_s: float = 0.0) -> tuple[Connections, Engine]:
    """Find the database and the broker, say which, and make sure of the tables.

    ``reads_only``: for a command that only looks: no file is made, and one that may not be written will do.
    ``wait_s``: how long to wait for a database that is away.
    """
    from cagematch.models.engine import file_of, open_engine, writable
    from cagematch.models.schema import require_current
    from cagematch.scheduler.live.outages import retry_during_outage
    from cagematch.workers.connections import find_connections

    connections = find_connections()
    if not quiet:
        notes().print(str(connections), style="dim")
    if not (may_write := writable(connections.database)) and not reads_only:
        file = file_of(connections.database)
        raise ServiceError(f"{file} may not be written, or its folder; report, export, show and status only read")
    engine = open_engine(connections.database, reads_only=reads_only)

    def make_sure() -> None:
        require_current(engine, upgrade_it=connections.local_file and may_write)

    with _named(connections):
        if wait_s:
            retry_during_outage(engine, make_sure, notes(), wait_s)
        else:
            make_sure()
    return connections, engine


@contextmanager
def _named(connections: Connections) -> Iterator[None]:
    """Within the block, a SQLite file that cannot be opened is named, which SQLite does not do."""
    from sqlalchemy.exc import OperationalError

    from cagematch.models.engine import file_of, writable

    try:
        yield
    except OperationalError as error:
        file = file_of(connections.database)
        if file is None:
            raise
        why = str(error.orig)
        if not os.access(file, os.R_OK):
            why = "permission denied"
        elif not writable(connections.database):
            why += "; it, or its folder, may not be written, and a journal beside it says that somebody is writing"
        raise ServiceError(f"{file} cannot be read: {why}") from None


def seconds(text: str) -> float:
    """``3``, ``3s``, ``500ms``, ``2m`` → seconds."""
    value = _quantity(text, SECONDS, "a time such as 3s, 500ms or 2m")
    if value > LONGEST_S:
        raise InputError(f"found {text!r}, expected a time of a week (168h) at most")
    return value


def mebibytes(text: str) -> int:
    """``512MiB``, ``2GiB`` → MiB."""
    return math.ceil(_quantity(text, MEBIBYTES, "a size such as 512MiB or 2GiB"))


def _quantity(text: str, units: dict[str, float], expected: str) -> float:
    found = QUANTITY.fullmatch(text.strip())
    if not found or found[2].lower() not in units or not 0 < float(found[1]) < LARGEST:
        raise InputError(f"found {text!r}, expected {expected}")
    return float(found[1]) * units[found[2].lower()]
