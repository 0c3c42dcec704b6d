"""Tables as files: CSV and JSON with every column, and Markdown with the visible columns."""

from __future__ import annotations

import csv
import io
import json
from collections.abc import Callable

from cagematch.scheduler.reports.table import Cell, Column, Table

# The first characters of cells that a spreadsheet computes. Source: OWASP, "CSV Injection". The last four are
# full-width forms of the first four.
FORMULA = ("=", "+", "-", "@", "\t", "\r", "\n", "＝", "＋", "－", "＠")


def as_csv(tables: list[Table]) -> str:
    """Write all tables as CSV under one heading; the first column is the name of the table."""
    out = io.StringIO()
    writer = csv.writer(out, lineterminator="\n")
    for table in tables[:1]:
        writer.writerow(["set", *(c.key for c in table.columns)])
    for table in tables:
        writer.writerows([safe(table.name), *(safe(row[c.key]) for c in table.columns)] for row in table.rows)
    return out.getvalue()


def as_json(tables: list[Table]) -> str:
    """Write all tables as a JSON list with one object per row."""
    rows = [{"set": t.name, **{c.key: row[c.key] for c in t.columns}} for t in tables for row in t.rows]
    return json.dumps(rows, indent=2, ensure_ascii=False) + "\n"


def as_markdown(tables: list[Table]) -> str:
    """Write each table as a Markdown table with a heading."""
    return "\n".join(_markdown(table) for table in tables)


def safe(cell: Cell) -> Cell:
    """Escape a cell that a spreadsheet would compute as a formula."""
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
    """Escape Markdown and HTML; replace the ends of lines, which would end the table, with blanks."""
    return "".join(" " if c in "\r\n" else "\\" + c if c in "|\\`*[]<>" else c for c in text)


def _line(cells: list[str], columns: list[Column], widths: list[int]) -> str:
    padded = (c.ljust(w) if column.left else c.rjust(w) for c, column, w in zip(cells, columns, widths, strict=True))
    return "| " + " | ".join(padded) + " |"
