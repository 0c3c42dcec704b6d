"""Tables as files: CSV and JSON, which always have every column, and Markdown, which is for people."""

from __future__ import annotations

import csv
import io
import json
from collections.abc import Callable

from cagematch.scheduler.reports.table import Cell, Column, Table

# What makes a spreadsheet compute a cell, by OWASP's page on CSV injection; the last four are taken for the first.
FORMULA = ("=", "+", "-", "@", "\t", "\r", "\n", "＝", "＋", "－", "＠")


def as_csv(tables: list[Table]) -> str:
    """Every table under one heading; the first column is the table's name."""
    out = io.StringIO()
    writer = csv.writer(out, lineterminator="\n")
    for table in tables[:1]:
        writer.writerow(["set", *(c.key for c in table.columns)])
    for table in tables:
        writer.writerows([safe(table.name), *(safe(row[c.key]) for c in table.columns)] for row in table.rows)
    return out.getvalue()


def as_json(tables: list[Table]) -> str:
    """A list of objects, one a row."""
    rows = [{"set": t.name, **{c.key: row[c.key] for c in t.columns}} for t in tables for row in t.rows]
    return json.dumps(rows, indent=2, ensure_ascii=False) + "\n"


def as_markdown(tables: list[Table]) -> str:
    """A Markdown table each, under a heading."""
    return "\n".join(_markdown(table) for table in tables)


def safe(cell: Cell) -> Cell:
    """A cell that no spreadsheet takes for a formula."""
    return "'" + cell if isinstance(cell, str) and cell.startswith(FORMULA) else cell


WRITERS: dict[str, Callable[[list[Table]], str]] = {"csv": as_csv, "json": as_json, "md": as_markdown}


def _markdown(table: Table) -> str:
    columns = table.visible
    rows = [[_escaped(cell) for cell in row] for row in table.cells()]
    headings = [column.heading for column in columns]
    widths = [max(3, *map(len, texts)) for texts in zip(headings, *rows, strict=True)]
    rules = ["-" * w if c.left else "-" * (w - 1) + ":" for c, w in zip(columns, widths, strict=True)]
    lines = [_line(row, columns, widths) for row in (headings, rules, *rows)]
    return "\n".join([f"### {_escaped(table.title)}\n", *lines, ""])


def _escaped(text: str) -> str:
    """Text that is no markup, and no HTML; a line's end, which would end the table, is a blank."""
    return "".join(" " if c in "\r\n" else "\\" + c if c in "|\\`*[]<>" else c for c in text)


def _line(cells: list[str], columns: list[Column], widths: list[int]) -> str:
    padded = (c.ljust(w) if column.left else c.rjust(w) for c, column, w in zip(cells, columns, widths, strict=True))
    return "| " + " | ".join(padded) + " |"
