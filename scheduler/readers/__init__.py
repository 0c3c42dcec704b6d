"""The file formats: one file each, one line each in READERS.

A reader takes the lines of a file and yields the puzzles' texts with their places; it knows the format, and
leaves it to the kind to say whether a text is a puzzle.
"""

from __future__ import annotations

from collections.abc import Iterator
from typing import Protocol

from cagematch.problems.errors import InputError
from cagematch.scheduler.readers import grid, jsonl, lines
from cagematch.scheduler.readers.entries import Misread, PuzzleEntry, Told, told_kind


class Reader(Protocol):
    """What a reader's module provides."""

    def recognises(self, content: list[str]) -> bool:
        """Whether the lines look like this format. The first reader in the table that says so is taken."""

    def kind(self, content: list[str]) -> Told | None:
        """The kind of puzzle that the lines say they hold, and where they say it."""

    def read(self, content: list[str]) -> Iterator[PuzzleEntry | Misread]:
        """Yield each puzzle, or what is wrong with a line."""


READERS: dict[str, Reader] = {
    "jsonl": jsonl,
    "grid": grid,
    "lines": lines,
}


def reader_for(content: list[str], name: str | None, kind: str | None = None) -> Reader:
    """The reader of that name, or the one that recognises the lines.

    ``kind``: what the lines hold, where the user says so. Drawn grids are looked for among Sudokus only: a line of
    another kind may be as long as a row.
    """
    if name is not None and name not in READERS:
        raise InputError(f"no format is called {name!r}; there are: {', '.join(READERS)}")
    if name is not None:
        return READERS[name]
    told = told_kind(content)
    drawn = (told.kind if told else kind) in (None, "sudoku")
    tried = (reader for reader in READERS.values() if drawn or reader is not grid)
    return next(reader for reader in tried if reader.recognises(content))
