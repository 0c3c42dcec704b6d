"""The table of a report: selecting columns and rows, and drawing it on a terminal."""

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
GAP = 2  # blanks between columns


@dataclass(frozen=True, slots=True)
class Column:
    """A column of a table.

    Parameters
    ----------
    key, heading
        The name of the column in files and options, and in drawn tables.
    write
        The function that formats a value.
    left
        Whether texts are aligned to the left.
    of
        The key of the total that the value is a part of, shown as ``3/4``.
    instead
        The key of the text that replaces a missing value.
    optional
        Whether the column is hidden unless a row has a value other than 0.
    programs
        Whether the column is hidden unless it is selected.
    spare
        Whether the column is hidden on a narrow terminal.
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
        """Return the formatted value of a row."""
        value = row[self.key]
        if value is None:
            return str(row[self.instead] or "") if self.instead else ""
        return self.write(value) + (f"/{row[self.of]}" if self.of else "")


SET = Column("set", "set", left=True)


@dataclass(frozen=True, slots=True)
class Table:
    """A table.

    Parameters
    ----------
    name, about
        The parts of the title.
    rows
        The values by column key.
    loud
        The indices of the rows to highlight.
    failed
        The ids of the runs that are wrong or ended with an error.
    """

    name: str
    about: str
    columns: list[Column]
    rows: list[dict[str, Cell]]
    loud: set[int] = field(default_factory=set)
    failed: frozenset[int] = frozenset()

    @property
    def title(self) -> str:
        """The line above the table."""
        return f"{self.name}  {self.about}" if self.about else self.name

    @property
    def visible(self) -> list[Column]:
        """The columns to draw."""
        return [c for c in self.columns if not c.programs and (not c.optional or any(row[c.key] for row in self.rows))]

    def cells(self) -> list[list[str]]:
        """Return the formatted rows in the visible columns."""
        visible = self.visible
        return [[column.cell(row) for column in visible] for row in self.rows]


def chosen(table: Table, columns: str | None, sort: str | None, matching: str | None) -> Table:
    """Select columns and rows of a table, and sort it.

    The key ``set`` can be used to sort and filter. As a column it is ignored, because every format shows the set.

    Parameters
    ----------
    columns
        The keys of the columns, separated by commas.
    sort
        The key to sort by; ``-key`` sorts in descending order. Missing values are last.
    matching
        ``key=word`` selects the rows with the word in a text, or with an equal number.

    Raises
    ------
    InputError
        There is no such column, or ``matching`` has another form.
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
        known_values = [pair for pair in rows if pair[1][key] is not None]
        known_values.sort(key=lambda pair: pair[1][key], reverse=sort.startswith("-"))  # type: ignore[arg-type, return-value]
        rows = known_values + [pair for pair in rows if pair[1][key] is None]
    loud = {new for new, (old, _) in enumerate(rows) if old in table.loud}
    return replace(table, columns=kept, rows=[row for _, row in rows], loud=loud)


def show(tables: list[Table], console: Console) -> None:
    """Draw tables on a terminal.

    A narrow terminal gets broken headings, then no spare columns, and at last text instead of a table.
    """
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
    """Whether the word is in a text, or equal to a number."""
    key, equals, wanted = matching.partition("=")
    if not equals or not wanted.strip():
        raise InputError(f"found --filter {matching!r}, expected KEY=WORD such as --filter configuration=cp-sat")
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
        raise InputError(f"found the column {key!r}, expected one of {', '.join(known)}")
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
        cells = ", ".join(f"{column.heading} {column.cell(row)}".strip() for column in others if column.cell(row))
        console.print(Text(first.cell(row), style=style), soft_wrap=False)
        console.print(Padding(Text(cells, style=style), (0, 0, 0, GAP)), soft_wrap=False)
