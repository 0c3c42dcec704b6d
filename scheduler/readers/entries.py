"""What readers yield: a puzzle's text and where each of its characters stood, or a fault."""

from __future__ import annotations

import re
from typing import NamedTuple

DEFAULT_KIND = "sudoku"  # of files that do not say what they hold
KIND = re.compile(r"\s*#\s*kind:\s*(\S+)\s*", re.IGNORECASE)


class PuzzleEntry(NamedTuple):
    """A puzzle's text as the file has it. ``line`` and ``column`` (1-based) are where it starts.

    ``places`` holds (line, column) for each character where the text was put together from several lines, or does not
    stand in one as it is. ``kind``: what the puzzle says that it is, where it says so itself.
    """

    line: int
    column: int
    text: str
    label: str
    places: tuple[tuple[int, int], ...] = ()
    kind: str | None = None

    def place(self, offset: int | None) -> tuple[int, int | None]:
        """Where a character of the text stands in the file; just the line when none is meant."""
        if offset is None:
            return self.line, None
        if self.places:  # the end of the text stands nowhere: it is told by its last character
            return self.places[min(offset, len(self.places) - 1)]
        return self.line, self.column + offset


class Told(NamedTuple):
    """A kind that a file names, and the line where it does."""

    line: int
    kind: str


def told_kind(content: list[str]) -> Told | None:
    """The kind that a line ``# kind: queens`` names, among the comments in front of the first puzzle."""
    for number, line in enumerate(content, 1):
        if found := KIND.fullmatch(line):
            return Told(number, found[1])
        if line.strip() and not line.lstrip().startswith("#"):
            break
    return None


class Misread(NamedTuple):
    """Something that is not of the format."""

    line: int
    column: int | None
    message: str
