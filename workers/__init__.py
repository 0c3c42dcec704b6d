"""Solving puzzles: the Celery worker, keepers, sandboxes and backends."""

from __future__ import annotations

import sys
from typing import Any


def __getattr__(name: str) -> Any:
    """Create the Celery application when ``celery -A cagematch.workers`` looks it up, and not before."""
    if name != "celery":
        raise AttributeError(name)
    from cagematch.problems.errors import CagematchError
    from cagematch.workers.service.app import make_app

    try:
        return globals().setdefault(name, make_app())
    except CagematchError as error:
        print(f"cagematch: {error}", file=sys.stderr)  # noqa: T201 - Celery would print a traceback
        sys.exit(2)
