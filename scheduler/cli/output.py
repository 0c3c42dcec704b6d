"""The two consoles of a command: standard output for results, standard error for everything else."""

from __future__ import annotations

import sys
from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from rich.console import Console


def output() -> Console:
    """Return a console on standard output, for results."""
    from cagematch.scheduler.cli.consoles import plain_console

    return plain_console(sys.stdout)


def notes() -> Console:
    """Return a console on standard error, for progress, warnings and the services in use."""
    from cagematch.scheduler.cli.consoles import plain_console

    return plain_console(sys.stderr)


def warn(text: str) -> None:
    """Print a warning to standard error."""
    notes().print(text, style="yellow")


def plural(number: int, noun: str) -> str:
    """Return ``1 run``, ``2,000 runs``."""
    return f"{number:,} {noun}{'s' * (number != 1)}"
