"""The solvers: backends, their parameters, presets and groups."""

from __future__ import annotations

from typing import Any

from rich.console import Console
from rich.table import Table as Grid
from rich.text import Text

from cagematch.scheduler.reports.table import Column, Table, show
from cagematch.workers.backends import all_backends, check_installation, entry, load
from cagematch.workers.backends.contract import Backend, Parameter
from cagematch.workers.configurations import GROUPS, PRESETS
from cagematch.workers.queues.pools import pool_of, queue_of

WIDEST = 120  # characters per line of a list
COLUMNS = [
    Column("backend", "backend", left=True),
    Column("pool", "pool", left=True),
    Column("slots", "live slots"),
    Column("tasks", "tasks", ", ".join, left=True),
    Column("version", "version", left=True),
]


def solvers(slots: dict[str, int] | None) -> dict[str, Any]:
    """Return everything that ``-s`` accepts, as JSON data.

    Parameters
    ----------
    slots
        The number of live slots by queue. ``None`` if unknown or meaningless.
    """
    backends = [_backend(name, None if slots is None else slots.get(queue_of(name), 0)) for name in all_backends()]
    return {
        "backends": backends,
        "presets": PRESETS,
        "groups": {name: list(members) for name, members in GROUPS.items()},
    }


def draw(found: dict[str, Any], console: Console) -> None:
    """Print the data of `solvers`."""
    rows = [{**b, "version": b["version"] or _problem(b)} for b in found["backends"]]
    columns = [c for c in COLUMNS if c.key != "slots" or any(row["slots"] is not None for row in rows)]
    show([Table("backends", "", columns, rows)], console)
    sections = {
        "parameters": {b["backend"]: ", ".join(map(_values, b["parameters"].items())) for b in found["backends"]},
        "constraints": {b["backend"]: ", ".join(b["constraints"]) for b in found["backends"]},
        "presets": found["presets"],
        "groups": {name: ", ".join(members) for name, members in found["groups"].items()},
    }
    for heading, lines in sections.items():
        _section(heading, {name: text for name, text in lines.items() if text}, console)


def _backend(name: str, slots: int | None) -> dict[str, Any]:
    version, broken = check_installation(name)
    found: dict[str, Any] = {"backend": name, "pool": pool_of(name), "version": version, "slots": slots}
    nothing: dict[str, Any] = {"tasks": [], "constraints": [], "parameters": {}}
    if version is not None:
        try:
            return found | _provided(load(name))
        except (AttributeError, TypeError) as error:  # a third-party backend that does not follow the contract
            broken = f"{name}: broken: {error}"
    if broken:
        return found | nothing | {"version": None, "broken": broken}
    return found | nothing | {"install": entry(name).install_hint(name)}


def _provided(backend: Backend) -> dict[str, Any]:
    return {
        "tasks": [task.value for task in backend.TASKS],
        "constraints": [constraint.__name__ for constraint in backend.HANDLES],
        "parameters": {key: _parameter(parameter) for key, parameter in backend.PARAMETERS.items()},
    }


def _problem(backend: dict[str, Any]) -> str:
    if "broken" in backend:
        return str(backend["broken"]).removeprefix(f"{backend['backend']}: ")
    return f"not installed: {backend['install']}"


def _parameter(parameter: Parameter) -> dict[str, Any]:
    choices = {"choices": list(parameter.choices)} if parameter.choices else {"least": parameter.least}
    return {"default": parameter.default} | choices


def _values(named: tuple[str, dict[str, Any]]) -> str:
    """Return a parameter with its values, the default first: ``encoding=int | bool``, ``workers=4``."""
    name, parameter = named
    others = [choice for choice in parameter.get("choices", ()) if choice != parameter["default"]]
    return f"{name}=" + " | ".join(map(str, [parameter["default"], *others]))


def _section(heading: str, lines: dict[str, str], console: Console) -> None:
    """Print names and texts in two columns; long texts wrap within theirs."""
    grid = Grid(box=None, pad_edge=False, show_header=False, padding=(0, 2, 0, 0))
    grid.add_column(no_wrap=True)
    grid.add_column(overflow="fold")
    for name, text in lines.items():
        grid.add_row(Text(name), Text(text))
    console.print(Text(heading, style="bold"))
    console.print(grid, width=min(console.width, WIDEST), soft_wrap=False)
    console.print()
