"""Files with a solution for each puzzle: JSON lines, tables with a heading, and lines of text.

::

    {"cages": [...], "solution": "4832..."}             an object that is the puzzle, or has the key "puzzle"
    quizzes,solutions                                   a heading with the names of both columns, then rows
    ..3.2.6..9..[...],483921657967[...]                 text, separated by blanks, a comma, `;`, `:` or `|`
    X:1...[...]:1:1234[...]                             the same with the number of solutions between them
"""

from __future__ import annotations

import csv
import json
import re
from collections.abc import Iterator
from typing import Any, NamedTuple

from cagematch.scheduler.readers import jsonl, lines
from cagematch.scheduler.readers.entries import DeclaredKind, Misread, PuzzleEntry, declared_kind

PUZZLE = ("puzzle", "puzzles", "quiz", "quizzes")
SOLUTION = ("solution", "solutions")
REPAIR = "repair"  # the task in an export, whose solutions may change clues
DELIMITERS = ",;\t"
BEHIND = re.compile(r"([\s,;:|]+)(?:[0-9]{1,9}:)?([^\s,;:|#/]*)")
COUNT = re.compile(r"[0-9]{1,9}")


class PuzzleWithSolution(NamedTuple):
    """The text of a puzzle and its solution.

    Parameters
    ----------
    column
        Where the text starts, if the line contains it as it is.
    solution
        The solution as one part, or as one part per row or value. Empty if there is none.
    doubtful
        Whether the solution may instead be the number of solutions.
    repairs
        Whether the solution may change the clues.
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
        """Return the line and column of a character of the puzzle; only the line if the column is unknown."""
        return self.line, None if offset is None or self.column is None else self.column + offset


class Heading(NamedTuple):
    """The heading of a table: its line, the delimiter, and the columns by name."""

    line: int
    delimiter: str
    columns: dict[str, int]

    def cell(self, row: list[str], *names: str) -> str:
        """Return the cell of a row in the first column that has one of the names."""
        at = next((self.columns[name] for name in names if name in self.columns), len(row))
        return row[at].strip() if at < len(row) else ""


def kind(content: list[str]) -> DeclaredKind | None:
    """Return the kind of the puzzles whose own lines do not declare one."""
    return jsonl.kind(content) if jsonl.recognises(content) else declared_kind(content)


def read(content: list[str]) -> Iterator[PuzzleWithSolution | Misread]:
    """Yield the puzzles with their solutions, and a Misread for each line with a fault."""
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


def _rows(content: list[str], heading: Heading) -> Iterator[PuzzleWithSolution | Misread]:
    if not any(name in heading.columns for name in SOLUTION):
        yield Misread(heading.line, None, f"found the columns {', '.join(heading.columns)}, expected a column solution")
        return
    # A cell can span several lines, so a row starts after the end of the row before it.
    rows = csv.reader((f"{line}\n" for line in content[heading.line :]), delimiter=heading.delimiter, strict=True)
    start = heading.line + 1
    try:
        for row in rows:
            if any(map(str.strip, row)):
                yield _row(row, start, content[start - 1], heading)
            start = heading.line + rows.line_num + 1
    except csv.Error as error:
        yield Misread(start, None, f"invalid table row: {error}")


def _row(row: list[str], number: int, line: str, heading: Heading) -> PuzzleWithSolution | Misread:
    puzzle, solution = heading.cell(row, *PUZZLE), tuple(heading.cell(row, *SOLUTION).split())
    if not puzzle:
        return Misread(number, None, f"found {len(row)} cells and no puzzle, expected {len(heading.columns)} cells")
    named, label = heading.cell(row, "kind"), heading.cell(row, *jsonl.LABEL)
    repairs = heading.cell(row, "task") == REPAIR
    return PuzzleWithSolution(number, _column(line, puzzle), named or None, puzzle, solution, label, repairs=repairs)


def _objects(content: list[str]) -> Iterator[PuzzleWithSolution | Misread]:
    for found in jsonl.read(content):
        if isinstance(found, PuzzleEntry):
            yield _object(found, content[found.line - 1])
        else:
            yield _followed(found, content[found.line - 1]) or found


def _object(entry: PuzzleEntry, line: str) -> PuzzleWithSolution | Misread:
    value = json.loads(line.strip())
    parts = _parts(value.get("solution"))
    if parts is None:
        found = str(value["solution"])[:20]
        return Misread(entry.line, None, f'"solution" is {found}, expected a string, rows or values')
    column, repairs = None if entry.places else entry.column, value.get("task") == REPAIR
    return PuzzleWithSolution(entry.line, column, entry.kind, entry.text, parts, entry.label, repairs=repairs)


def _followed(fault: Misread, line: str) -> PuzzleWithSolution | None:
    """Read an object followed by its solution, which the JSON reader reports as a fault."""
    if fault.column is None:
        return None
    text = line[: fault.column - 1].rstrip()
    found = next(jsonl.read([text]), None)
    if not isinstance(found, PuzzleEntry):
        return None
    return _with_solution(found._replace(line=fault.line), line[len(text) :])


def _texts(content: list[str]) -> Iterator[PuzzleWithSolution | Misread]:
    for found in lines.read(content):
        if isinstance(found, PuzzleEntry):
            yield _with_solution(found, content[found.line - 1][found.column - 1 + len(found.text) :])
        else:
            yield found


def _with_solution(entry: PuzzleEntry, rest: str) -> PuzzleWithSolution:
    """Read the solution and the label from the rest of a puzzle's line."""
    found = BEHIND.match(rest)
    solution = found[2] if found else ""
    label = rest[found.end() if found else 0 :].lstrip(lines.SEPARATORS).rstrip()
    doubtful = found is not None and found[0] == f":{solution}" and COUNT.fullmatch(solution) is not None
    column = None if entry.places else entry.column
    parts = (solution,) if solution else ()
    return PuzzleWithSolution(entry.line, column, entry.kind, entry.text, parts, label, doubtful)


def _parts(value: Any) -> tuple[str, ...] | None:
    """Return the parts of a solution: a string split at blanks, or flattened lists. None if the value is invalid."""
    if value is None or isinstance(value, str):
        return tuple((value or "").split())
    if type(value) is int:
        return (str(value),)
    if not isinstance(value, list):
        return None
    rows = [_parts(row) for row in value if row is not None]
    if len(rows) < len(value) or None in rows:
        return None
    return tuple(part for row in rows if row for part in row)


def _column(line: str, puzzle: str) -> int | None:
    """Return the column of the puzzle's text in a line; None if it is written in other characters."""
    return line.find(puzzle) + 1 or None
