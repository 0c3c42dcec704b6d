"""The file formats: one module and one line in READERS each.

A reader yields the texts of the puzzles in a file, with their positions. It depends on the format only: the kind
decides whether a text is a valid puzzle.
"""

from __future__ import annotations

from collections.abc import Iterator
from typing import Protocol

from cagematch.problems.errors import InputError
from cagematch.scheduler.readers import grid, jsonl, lines
from cagematch.scheduler.readers.entries import DeclaredKind, Misread, PuzzleEntry, declared_kind


class Reader(Protocol):
    """The interface of a reader module."""

    def recognises(self, content: list[str]) -> bool:
        """Whether the lines have this format. The first reader in READERS that returns True is used."""

    def kind(self, content: list[str]) -> DeclaredKind | None:
        """Return the kind of puzzle that the file declares, and the line of the declaration."""

    def read(self, content: list[str]) -> Iterator[PuzzleEntry | Misread]:
        """Yield the puzzles, and a Misread for each line with a fault."""


READERS: dict[str, Reader] = {
    "jsonl": jsonl,
    "grid": grid,
    "lines": lines,
}


def reader_for(content: list[str], name: str | None, kind: str | None = None) -> Reader:
    """Return the reader with a name, or the first one that recognises the lines.

    Only Sudokus can be drawn as grids: a puzzle of another kind may be a line as long as the row of a grid.

    Parameters
    ----------
    kind
        The kind of puzzle in a file that does not declare one.

    Raises
    ------
    InputError
        No reader has the name.
    """
    if name is not None and name not in READERS:
        raise InputError(f"found the format {name!r}, expected one of {', '.join(READERS)}")
    if name is not None:
        return READERS[name]
    declared = declared_kind(content)
    drawn = (declared.kind if declared else kind) in (None, "sudoku")
    tried = (reader for reader in READERS.values() if drawn or reader is not grid)
    return next(reader for reader in tried if reader.recognises(content))
