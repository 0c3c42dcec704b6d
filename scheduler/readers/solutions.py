"""Files that have a solution beside each puzzle: JSON lines, tables with a heading, and lines of text.

::

    {"cages": [...], "solution": "4832..."}             an object that is the puzzle, or has a key "puzzle"
    quizzes,solutions                                   a heading that names the two columns, then rows
    ..3.2.6..9..[...],483921657967[...]                 text: between the two blanks, a comma, `;`, `:` or `|`
    X:1...[...]:1:1234[...]                             how many solutions there are may stand between
"""

from __future__ import annotations

import csv
import json
import re
from collections.abc import Iterator
from typing import Any, NamedTuple

from cagematch.scheduler.readers import jsonl, lines
from cagematch.scheduler.readers.entries import Misread, PuzzleEntry, Told, told_kind

PUZZLE = ("puzzle", "puzzles", "quiz", "quizzes")
SOLUTION = ("solution", "solutions")
REPAIR = "repair"  # the task, in an export, whose solutions may change what is given
DELIMITERS = ",;\t"
BEHIND = re.compile(r"([\s,;:|]+)(?:[0-9]{1,9}:)?([^\s,;:|#/]*)")
COUNT = re.compile(r"[0-9]{1,9}")


class Pair(NamedTuple):
    """A puzzle's text and a solution of it.

    ``column`` is where the text starts, if the line has it as it is. ``solution`` has one part, or one a row or a
    value; it is empty where there is none. ``doubtful``: it may as well be how many solutions there are.
    ``repairs``: it need not have what the puzzle gives.
    """

    line: int
    column: int | None
    kind: str | None
    puzzle: str
    solution: tuple[str, ...]
    label: str
    doubtful: bool = False
    repairs: bool = False

    def place(self, offset: int | None) -> tuple[int, int | None]:
        """Where a character of the puzzle's text stands in the file; just the line when that is not known."""
        return self.line, None if offset is None or self.column is None else self.column + offset


class Heading(NamedTuple):
    """The line that names the columns of a table; what is between columns, and which column has what name."""

    line: int
    delimiter: str
    columns: dict[str, int]

    def cell(self, row: list[str], *names: str) -> str:
        """What a row has in the first column of these names."""
        at = next((self.columns[name] for name in names if name in self.columns), len(row))
        return row[at].strip() if at < len(row) else ""


def kind(content: list[str]) -> Told | None:
    """The kind of the puzzles whose own lines do not say it."""
    return jsonl.kind(content) if jsonl.recognises(content) else told_kind(content)


def read(content: list[str]) -> Iterator[Pair | Misread]:
    """Yield each puzzle with its solution, or what is wrong with a line."""
    if heading := _heading(content):
        return _rows(content, heading)
    return _objects(content) if jsonl.recognises(content) else _texts(content)


def _heading(content: list[str]) -> Heading | None:
    bare = (
        (number, line) for number, line in enumerate(content, 1) if line.strip() and not line.lstrip().startswith("#")
    )
    number, first = next(bare, (0, ""))
    for delimiter in DELIMITERS:
        names = [name.strip(' "').lower() for name in first.split(delimiter)]
        if set(PUZZLE) & set(names):
            return Heading(number, delimiter, {name: names.index(name) for name in names})
    return None


def _rows(content: list[str], heading: Heading) -> Iterator[Pair | Misread]:
    if not any(name in heading.columns for name in SOLUTION):
        yield Misread(heading.line, None, f"columns {', '.join(heading.columns)}, expected one called solution")
        return
    # A cell may go on over several lines: a row starts behind the one before it.
    rows = csv.reader((f"{line}\n" for line in content[heading.line :]), delimiter=heading.delimiter, strict=True)
    start = heading.line + 1
    try:
        for row in rows:
            if any(map(str.strip, row)):
                yield _row(row, start, content[start - 1], heading)
            start = heading.line + rows.line_num + 1
    except csv.Error as error:
        yield Misread(start, None, f"this is no row of a table: {error}")


def _row(row: list[str], number: int, line: str, heading: Heading) -> Pair | Misread:
    puzzle, solution = heading.cell(row, *PUZZLE), heading.cell(row, *SOLUTION)
    if not puzzle:
        return Misread(number, None, f"no puzzle among {len(row)} cells, expected {len(heading.columns)}")
    named, label = heading.cell(row, "kind"), heading.cell(row, *jsonl.LABEL)
    repairs = heading.cell(row, "task") == REPAIR
    return Pair(number, _column(line, puzzle), named or None, puzzle, tuple(solution.split()), label, repairs=repairs)


def _objects(content: list[str]) -> Iterator[Pair | Misread]:
    for found in jsonl.read(content):
        if isinstance(found, PuzzleEntry):
            yield _object(found, content[found.line - 1])
        else:
            yield _followed(found, content[found.line - 1]) or found


def _object(entry: PuzzleEntry, line: str) -> Pair | Misread:
    told = json.loads(line.strip())
    parts = _parts(told.get("solution"))
    if parts is None:
        return Misread(entry.line, None, f'"solution" is {str(told["solution"])[:20]}, expected a text, rows or values')
    column, repairs = None if entry.places else entry.column, told.get("task") == REPAIR
    return Pair(entry.line, column, entry.kind, entry.text, parts, entry.label, repairs=repairs)


def _followed(fault: Misread, line: str) -> Pair | None:
    """An object with its solution behind it; a reader of JSON takes that for a fault."""
    if fault.column is None:
        return None
    told = line[: fault.column - 1].rstrip()
    found = next(jsonl.read([told]), None)
    if not isinstance(found, PuzzleEntry):
        return None
    return _pair(found._replace(line=fault.line), line[len(told) :])


def _texts(content: list[str]) -> Iterator[Pair | Misread]:
    for found in lines.read(content):
        if isinstance(found, PuzzleEntry):
            yield _pair(found, content[found.line - 1][found.column - 1 + len(found.text) :])
        else:
            yield found


def _pair(entry: PuzzleEntry, rest: str) -> Pair:
    """A puzzle and what stands behind it."""
    found = BEHIND.match(rest)
    solution = found[2] if found else ""
    label = rest[found.end() if found else 0 :].lstrip(lines.SEPARATORS).rstrip()
    doubtful = found is not None and found[0] == f":{solution}" and COUNT.fullmatch(solution) is not None
    column = None if entry.places else entry.column
    return Pair(entry.line, column, entry.kind, entry.text, (solution,) if solution else (), label, doubtful)


def _parts(told: Any) -> tuple[str, ...] | None:
    """The parts of a solution: a text as blanks part it, lists within lists made flat; None for what is none."""
    if told is None or isinstance(told, str):
        return tuple((told or "").split())
    if type(told) is int:
        return (str(told),)
    if not isinstance(told, list):
        return None
    rows = [_parts(row) for row in told if row is not None]
    if len(rows) < len(told) or None in rows:
        return None
    return tuple(part for row in rows if row for part in row)


def _column(line: str, puzzle: str) -> int | None:
    """Where a line has the puzzle's text, unless it stands there in other characters."""
    return line.find(puzzle) + 1 or None
