"""The results of readers: puzzle texts with the positions of their characters, declared kinds, and faults."""

from __future__ import annotations

import re
from typing import NamedTuple

DEFAULT_KIND = "sudoku"  # of files that do not declare a kind
KIND = re.compile(r"\s*#\s*kind:\s*(\S+)\s*", re.IGNORECASE)


class PuzzleEntry(NamedTuple):
    """The text of a puzzle in a file.

    Parameters
    ----------
    line, column
        Where the text starts, both from 1.
    places
        The line and column of each character, for a text joined from several lines or written with escapes.
        Empty if the text is in the line as it is.
    kind
        The kind that the entry itself declares.
    """

    line: int
    column: int
    text: str
    label: str
    places: tuple[tuple[int, int], ...] = ()
    kind: str | None = None

    def place(self, offset: int | None) -> tuple[int, int | None]:
        """Return the line and column of a character of the text; without an offset, only the line."""
        if offset is None:
            return self.line, None
        if self.places:  # the end of the text has no position of its own: use its last character
            return self.places[min(offset, len(self.places) - 1)]
        return self.line, self.column + offset


class DeclaredKind(NamedTuple):
    """The kind of puzzle that a file declares, and the line of the declaration."""

    line: int
    kind: str


def declared_kind(content: list[str]) -> DeclaredKind | None:
    """Return the kind in a comment such as ``# kind: queens`` before the first puzzle."""
    for number, line in enumerate(content, 1):
        if found := KIND.fullmatch(line):
            return DeclaredKind(number, found[1])
        if line.strip() and not line.lstrip().startswith("#"):
            break
    return None


class Misread(NamedTuple):
    """A fault in a file: text that does not have the format."""

    line: int
    column: int | None
    message: str
