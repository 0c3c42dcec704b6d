"""Read what the command has stored."""

from __future__ import annotations

import csv
import json
import sqlite3
from contextlib import closing
from pathlib import Path
from typing import Any

HARD = Path(__file__).resolve().parents[2] / "puzzles" / "hard.txt"
TABLES = ("puzzle", "puzzle_set", "set_entry", "batch", "shard", "run")


def rows(folder: Path, query: str) -> list[tuple[Any, ...]]:
    """The rows that a query of the embedded database returns."""
    with closing(sqlite3.connect(folder / "scheduler.db", timeout=30)) as connection:
        return connection.execute(query).fetchall()


def stored(folder: Path) -> dict[str, int]:
    """The number of rows in each table; zeros without a database."""
    if not (folder / "scheduler.db").exists():
        return dict.fromkeys(TABLES, 0)
    return {table: rows(folder, f"SELECT count(*) FROM {table}")[0][0] for table in TABLES}  # noqa: S608


def runs_stored(folder: Path) -> int:
    """The number of stored runs; 0 before the database exists."""
    try:
        return int(rows(folder, "SELECT count(*) FROM run")[0][0])
    except sqlite3.OperationalError:
        return 0


def report(scheduler: Any, *words: str) -> list[dict[str, Any]]:
    """The rows of the report."""
    return json.loads(scheduler("report", *words, "--format", "json", code=None).stdout)


def exported(scheduler: Any, *words: str) -> list[dict[str, str]]:
    """The raw runs."""
    return list(csv.DictReader(scheduler("export", *words, "-").stdout.splitlines()))
