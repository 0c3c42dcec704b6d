"""Doing the solving: Celery, keepers, sandboxes and backends."""

from __future__ import annotations

import sys
from importlib.util import find_spec
from pathlib import Path
from typing import Any, NoReturn

PACKAGES = ("problems", "models", "migrations", "workers")


def __getattr__(name: str) -> Any:
    """Make the Celery application when ``celery -A workers`` asks for it, and not before."""
    if name != "celery":
        raise AttributeError(name)
    for found in shadows():
        # Before anything of ours is imported, errors included: it may be the user's by that name.
        _refuse(f"{found} stands where Cagematch has files of that name; rename it, or start in another folder")
    from problems.errors import CagematchError
    from workers.app import make_app

    try:
        return globals().setdefault(name, make_app())
    except CagematchError as error:
        _refuse(str(error))


def shadows() -> list[Path]:
    """Files of the user's that take the place of our packages: ``celery`` puts the working folder first on the path."""
    ours = Path(__file__).resolve().parent.parent
    found = []
    for name in PACKAGES:
        spec = find_spec(name)
        at = spec and (spec.origin or next(iter(spec.submodule_search_locations or ()), None))
        if at and ours not in Path(at).resolve().parents:
            found.append(Path(at))
    return found


def forget_scripts() -> None:
    """Take the folder of installed commands off the import path, where Python puts it first when one of them runs.

    Other distributions keep scripts there by such names as ``models.py``: python-sat does.
    """
    folder = Path(sys.argv[0]).resolve().parent
    if (folder / "scheduler").is_file():
        sys.path[:] = [entry for entry in sys.path if not entry or Path(entry).resolve() != folder]


def _refuse(why: str) -> NoReturn:
    print(f"cagematch: {why}", file=sys.stderr)  # noqa: T201 - Celery would show a traceback
    sys.exit(2)


forget_scripts()
