"""Doing the solving: Celery, keepers, sandboxes and backends."""

from __future__ import annotations

from typing import Any


def __getattr__(name: str) -> Any:
    """Make the Celery application when ``celery -A workers`` asks for it, and not before."""
    if name == "celery":
        from workers.app import make_app

        return globals().setdefault(name, make_app())
    raise AttributeError(name)
