"""A table that a report made: choosing from it, and drawing it on a terminal."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass, field, replace
from typing import Any

from rich.console import Console
from rich.padding import Padding
from rich.table import Table as RichTable
from rich.text import Text

from cagematch.problems.errors import InputError

Cell = str | int | float | None
GAP = 2  # blanks between two columns


@dataclass(frozen=True, slots=True)
class Column:
    """A column: its key, its heading, and how to write a value for people.

    ``of``: the key of a whole that the value is part of, written behind it. ``instead``: the key of what people read
    where there is no value. ``optional``: people see the column only when a row has something in it. ``programs``:
    people never see it unless they ask for it. ``spare``: left out where the terminal is too narrow for all.
    """

    key: str
    heading: str
    write: Callable[[Any], str] = str
    left: bool = False
    of: str | None = None
    instead: str | None = None
    optional: bool = False
    programs: bool = False
    spare: bool = False

    def cell(self, row: dict[str, Cell]) -> str:
        """The value in a row, as people read it."""
        value = row[self.key]
        if value is None:
            return str(row[self.instead] or "") if self.instead else ""
        return self.write(value) + (f"/{row[self.of]}" if self.of else "")


SET = Column("set", "set", left=True)


@dataclass(frozen=True, slots=True)
class Table:
    """Rows of values by column key, under a name and what is said about it. ``loud`` rows are shown as such.

    ``failed``: the numbers of the runs that make them so.
    """

    name: str
    about: str
    columns: list[Column]
    rows: list[dict[str, Cell]]
    loud: set[int] = field(default_factory=set)
    failed: frozenset[int] = frozenset()

    @property
    def title(self) -> str:
        """The line above it."""
        return f"{self.name}  {self.about}" if self.about else self.name

    @property
    def visible(self) -> list[Column]:
        """The columns that people see."""
        return [c for c in self.columns if not c.programs and (not c.optional or any(row[c.key] for row in self.rows))]

    def cells(self) -> list[list[str]]:
        """The rows as people read them, in the visible columns."""
        visible = self.visible
        return [[column.cell(row) for column in visible] for row in self.rows]


def chosen(table: Table, columns: str | None, sort: str | None, matching: str | None) -> Table:
    """The table with some of its columns, in another order, or with some of its rows (``key=word``).

    ``set`` is a key too: every format tells it without being asked, but rows may be chosen by it.
    """
    known = {SET.key: SET} | {column.key: column for column in table.columns}
    kept = table.columns
    if columns is not None:
        named = [known[_known(word, known)] for word in columns.split(",")]
        kept = [replace(column, optional=False, programs=False, spare=False) for column in named if column is not SET]
    rows = [(at, {SET.key: table.name, **row}) for at, row in enumerate(table.rows)]
    if matching is not None:
        rows = [(at, row) for at, row in rows if _matches(row, matching, known)]
    if sort is not None:
        key = _known(sort.removeprefix("-"), known)
        there = [pair for pair in rows if pair[1][key] is not None]
        there.sort(key=lambda pair: pair[1][key], reverse=sort.startswith("-"))  # type: ignore[arg-type, return-value]
        rows = there + [pair for pair in rows if pair[1][key] is None]
    loud = {new for new, (old, _) in enumerate(rows) if old in table.loud}
    return replace(table, columns=kept, rows=[row for _, row in rows], loud=loud)


def show(tables: list[Table], console: Console) -> None:
    """Draw tables on a terminal: where it is narrow with broken headings, then without spare columns, then in text."""
    for table in tables:
        console.print(Text(table.title, style="bold"), soft_wrap=False)
        lean = replace(table, columns=[column for column in table.columns if not column.spare])
        drawn = (_fitting(one, console.width) for one in (table, lean))
        if fitting := next(filter(None, drawn), None):
            console.print(fitting)
        else:
            _paragraphs(table, console)
        console.print()


def _fitting(table: Table, width: int) -> RichTable | None:
    headings = [column.heading for column in table.visible]
    broken = [heading.replace(" ", "\n") for heading in headings]
    layouts = ((headings, GAP), (broken, GAP), (broken, 1))
    found = next((layout for layout in layouts if _width(table, *layout) <= width), None)
    return _drawn(table, *found) if found else None


def _matches(row: dict[str, Cell], matching: str, known: dict[str, Column]) -> bool:
    """A text matches when the word is in it, a number when it is that number."""
    key, equals, wanted = matching.partition("=")
    if not equals or not wanted.strip():
        raise InputError(f"found {matching!r} after --filter, expected KEY=WORD")
    value = row[_known(key, known)]
    if isinstance(value, str):
        return wanted.lower() in value.lower()
    try:
        return value is not None and float(wanted) == value
    except ValueError:
        return False


def _known(key: str, known: dict[str, Column]) -> str:
    key = key.strip()
    if key not in known:
        raise InputError(f"the report has no column {key!r}; it has: {', '.join(known)}")
    return key


def _width(table: Table, headings: list[str], gap: int) -> int:
    widths = [max(map(len, heading.split("\n"))) for heading in headings]
    for row in table.cells():
        widths = [max(width, len(cell)) for width, cell in zip(widths, row, strict=True)]
    return sum(widths) + gap * (len(widths) - 1)


def _drawn(table: Table, headings: list[str], gap: int) -> RichTable:
    drawn = RichTable(box=None, pad_edge=False, padding=(0, gap, 0, 0), collapse_padding=True)
    for column, heading in zip(table.visible, headings, strict=True):
        justify = "left" if column.left else "right"
        drawn.add_column(Text(heading), justify=justify, no_wrap=True, vertical="bottom")  # type: ignore[arg-type]
    for at, row in enumerate(table.cells()):
        drawn.add_row(*map(Text, row), style="bold red" if at in table.loud else None)
    return drawn


def _paragraphs(table: Table, console: Console) -> None:
    first, *others = table.visible
    for at, row in enumerate(table.rows):
        style = "bold red" if at in table.loud else ""
        told = ", ".join(f"{column.heading} {column.cell(row)}".strip() for column in others if column.cell(row))
        console.print(Text(first.cell(row), style=style), soft_wrap=False)
        console.print(Padding(Text(told, style=style), (0, 0, 0, GAP)), soft_wrap=False)
