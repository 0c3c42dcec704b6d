"""The Celery worker, and the keepers, sandboxes and backends that it solves puzzles with."""

from __future__ import annotations

import sys
from typing import Any


def __getattr__(name: str) -> Any:
    """Create the Celery application when ``celery -A cagematch.workers`` asks for it.

    Raises
    ------
    AttributeError
        The attribute is not ``celery``.
    SystemExit
        The settings are invalid. Celery would print a traceback for any other exception.
    """
    if name != "celery":
        raise AttributeError(name)
    from cagematch.problems.errors import CagematchError
    from cagematch.workers.service.app import make_app

    try:
        return globals().setdefault(name, make_app())
    except CagematchError as error:
        print(f"cagematch: {error}", file=sys.stderr)  # noqa: T201 - logging is not configured yet
        sys.exit(2)
