"""A table that a report made, and the ways to write it: for a terminal, CSV, JSON, Markdown."""

from __future__ import annotations

import csv
import io
import json
from collections.abc import Callable
from dataclasses import dataclass, field
from typing import Any

from rich.console import Console
from rich.table import Table as RichTable
from rich.text import Text

from problems.errors import InputError

Cell = str | int | float | None


@dataclass(frozen=True, slots=True)
class Column:
    """A column: its key, its heading, and how to write a value for people."""

    key: str
    heading: str
    write: Callable[[Any], str] = str
    left: bool = False


@dataclass(slots=True)
class Table:
    """Rows of values by column key, under a title. ``loud`` rows are shown as such."""

    title: str
    columns: list[Column]
    rows: list[dict[str, Cell]]
    loud: set[int] = field(default_factory=set)

    def cells(self) -> list[list[str]]:
        """The rows as people read them."""
        return [["" if row[c.key] is None else c.write(row[c.key]) for c in self.columns] for row in self.rows]


def chosen(table: Table, columns: str | None, sort: str | None, matching: str | None) -> Table:
    """The table with some of its columns, in another order, or with some of its rows (``key=word``)."""
    known = {column.key: column for column in table.columns}
    keys = [_known(word, known) for word in columns.split(",")] if columns else list(known)
    rows = list(enumerate(table.rows))
    if matching:
        key, _, wanted = matching.partition("=")
        key = _known(key, known)
        rows = [(at, row) for at, row in rows if wanted.lower() in str(row[key]).lower()]
    if sort:
        key = _known(sort.removeprefix("-"), known)
        rows.sort(key=lambda row: (row[1][key] is None, row[1][key]), reverse=sort.startswith("-"))
    loud = {new for new, (old, _) in enumerate(rows) if old in table.loud}
    return Table(table.title, [known[key] for key in keys], [row for _, row in rows], loud)


def show(tables: list[Table], console: Console) -> None:
    """Draw tables on a terminal."""
    for table in tables:
        drawn = RichTable(title=Text(table.title, style="bold"), title_justify="left", box=None, pad_edge=False)
        for column in table.columns:
            drawn.add_column(column.heading, justify="left" if column.left else "right", no_wrap=True)
        for at, row in enumerate(table.cells()):
            drawn.add_row(*map(Text, row), style="bold red" if at in table.loud else None)
        console.print(drawn)
        console.print()


def as_csv(tables: list[Table]) -> str:
    """Every table under one heading; the first column is the table's title."""
    out = io.StringIO()
    writer = csv.writer(out, lineterminator="\n")
    for table in tables[:1]:
        writer.writerow(["set", *(c.key for c in table.columns)])
    for table in tables:
        writer.writerows([table.title, *map(safe, (row[c.key] for c in table.columns))] for row in table.rows)
    return out.getvalue()


def as_json(tables: list[Table]) -> str:
    """A list of objects, one a row."""
    rows = [{"set": t.title} | {c.key: row[c.key] for c in t.columns} for t in tables for row in t.rows]
    return json.dumps(rows, indent=2) + "\n"


def as_markdown(tables: list[Table]) -> str:
    """A Markdown table each, under a heading."""
    parts = []
    for table in tables:
        widths = [max(map(len, [c.heading, *column])) for c, column in zip(table.columns, _turned(table), strict=True)]
        parts.append(f"### {table.title}\n")
        parts.append(_line([c.heading for c in table.columns], table.columns, widths))
        rules = [("-" * w) if c.left else "-" * (w - 1) + ":" for c, w in zip(table.columns, widths, strict=True)]
        parts.append(_line(rules, table.columns, widths))
        cells = [[cell.replace("|", "\\|") for cell in row] for row in table.cells()]
        parts += [_line(row, table.columns, widths) for row in cells]
        parts.append("")
    return "\n".join(parts)


def safe(cell: Cell) -> Cell:
    """A cell that no spreadsheet takes for a formula."""
    return "'" + cell if isinstance(cell, str) and cell[:1] in ("=", "+", "-", "@", "\t", "\r") else cell


def _known(key: str, known: dict[str, Column]) -> str:
    key = key.strip()
    if key not in known:
        raise InputError(f"the report has no column {key!r}; it has: {', '.join(known)}")
    return key


def _turned(table: Table) -> list[list[str]]:
    cells = table.cells()
    return [[row[at] for row in cells] for at in range(len(table.columns))]


def _line(cells: list[str], columns: list[Column], widths: list[int]) -> str:
    padded = (c.ljust(w) if column.left else c.rjust(w) for c, column, w in zip(cells, columns, widths, strict=True))
    return "| " + " | ".join(padded) + " |"
