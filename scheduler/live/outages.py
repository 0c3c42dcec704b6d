"""Waiting for services that are away, and saying so."""

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

AGAIN_S = 1.0
LOOK_S = 5.0  # between two looks whether the broker is there
ANSWER_S = 2.0
REFUSED = ("FATAL:", "failed to resolve", "not known")  # by a server that is there, or of a name that is not
PASSING = ("starting up", "shutting down", "recovery mode", "not yet accepting", "terminating connection", "too many")
T = TypeVar("T")


def patiently(engine: Engine, ask: Callable[[], T], console: Console, most_s: float = math.inf) -> T:
    """Ask a database. While it is away say so, once, and wait for it; a refusal is nothing that waiting helps.

    ``most_s``: how long, before it is an error like any other.
    """
    told, until = False, time.monotonic() + most_s
    while True:
        try:
            answer = ask()
        except OUTAGE_ERRORS as error:
            if engine.dialect.name != "postgresql" or _is_refusal(str(error)) or time.monotonic() > until:
                raise
            if not told:
                first = first_line(error.__cause__ or error)
                place = without_password(engine.url.render_as_string(hide_password=False))
                text = f"waiting for the database {place} (Ctrl-C ends only this): {first}"
                console.print(text, style="yellow", soft_wrap=True)
            told = True
            time.sleep(AGAIN_S)
        else:
            if told:
                console.print("the database is back", style="yellow")
            return answer


def broker_watch(broker: str, console: Console) -> Callable[[], None]:
    """What looks now and then whether the broker is there, and says when it goes and when it comes."""
    there, due = True, time.monotonic()

    def look() -> None:
        nonlocal there, due
        if time.monotonic() < due:
            return
        before, there = there, answers(broker)
        due = time.monotonic() + LOOK_S
        if before and not there:
            console.print(away(broker), style="yellow")
        elif there and not before:
            console.print("the broker is back", style="yellow")

    return look


def away(broker: str) -> str:
    """What to say of a broker that does not answer."""
    return f"the broker {without_password(broker)} does not answer: what is queued goes on when it does"


def answers(broker: str) -> bool:
    """Whether a Redis answers. Of another broker, or of one behind TLS, it cannot be told from here: yes.

    Spoken by hand, as the client takes long to import; that it wants a password is an answer, too.
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


def _is_refusal(told: str) -> bool:
    return any(word in told for word in REFUSED) and not any(word in told for word in PASSING)
