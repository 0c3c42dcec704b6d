"""Outages: reporting that a service is unreachable, and waiting until it is reachable again."""

from __future__ import annotations

import math
import socket
import time
from collections.abc import Callable
from contextlib import suppress
from typing import TypeVar
from urllib.parse import urlsplit

from rich.console import Console
from sqlalchemy import Engine

from cagematch.models.engine import OUTAGE_ERRORS
from cagematch.problems.errors import first_line
from cagematch.workers.connections import without_password

RETRY_S = 1.0
CHECK_EVERY_S = 5.0  # the interval between two checks of the broker
ANSWER_S = 2.0  # timeout of one check
REFUSED = ("FATAL:", "failed to resolve", "not known")  # the server refuses, or its name does not exist
PASSING = ("starting up", "shutting down", "recovery mode", "not yet accepting", "terminating connection", "too many")
T = TypeVar("T")


def retry_during_outage(engine: Engine, ask: Callable[[], T], console: Console, most_s: float = math.inf) -> T:
    """Query a database; during an outage, report it once and retry until the database is reachable.

    Parameters
    ----------
    ask
        The query.
    most_s
        How long to retry before the error is raised.

    Raises
    ------
    DBAPIError
        The query failed for another reason, the server refused it, or the outage lasted longer than ``most_s``.
    """
    reported, until = False, time.monotonic() + most_s
    while True:
        try:
            answer = ask()
        except OUTAGE_ERRORS as error:
            if engine.dialect.name != "postgresql" or _is_refusal(str(error)) or time.monotonic() > until:
                raise
            if not reported:
                first = first_line(error.__cause__ or error)
                place = without_password(engine.url.render_as_string(hide_password=False))
                text = f"the database {place} is unreachable, retrying (Ctrl-C stops only this command): {first}"
                console.print(text, style="yellow", soft_wrap=True)
            reported = True
            time.sleep(RETRY_S)
        else:
            if reported:
                console.print("the database is reachable again", style="yellow")
            return answer


def broker_watch(broker: str, console: Console) -> Callable[[], None]:
    """Return a check that reports the start and the end of an outage of the broker. It can be called at any rate."""
    reachable, due = True, time.monotonic()

    def check() -> None:
        nonlocal reachable, due
        if time.monotonic() < due:
            return
        before, reachable = reachable, answers(broker)
        due = time.monotonic() + CHECK_EVERY_S
        if before and not reachable:
            console.print(unreachable(broker), style="yellow")
        elif reachable and not before:
            console.print("the broker is reachable again", style="yellow")

    return check


def unreachable(broker: str) -> str:
    """Return the message for an unreachable broker."""
    return f"the broker {without_password(broker)} is unreachable; queued runs wait until it is reachable"


def answers(broker: str) -> bool:
    """Whether a Redis answers. The state of another broker, or of one behind TLS, is unknown here: True.

    The check speaks the protocol itself, because the client library is slow to import. A request for a password also
    counts as an answer.
    """
    parts = urlsplit(broker)
    if parts.scheme != "redis":
        return True
    with suppress(OSError, ValueError):
        place = (parts.hostname or "localhost", parts.port or 6379)
        with socket.create_connection(place, ANSWER_S) as connection:
            connection.settimeout(ANSWER_S)
            connection.sendall(b"PING\r\n")
            return connection.recv(1) in (b"+", b"-")
    return False


def _is_refusal(message: str) -> bool:
    return any(word in message for word in REFUSED) and not any(word in message for word in PASSING)
