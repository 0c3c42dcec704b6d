"""What readers yield: a puzzle's text and where each of its characters stood, or a fault."""

from __future__ import annotations

from typing import NamedTuple


class Entry(NamedTuple):
    """A puzzle's text as the file has it. ``line`` and ``column`` (1-based) are where it starts.

    ``places`` holds (line, column) for each character where the text was put together from several lines.
    """

    line: int
    column: int
    text: str
    label: str
    places: tuple[tuple[int, int], ...] = ()

    def place(self, offset: int | None) -> tuple[int, int | None]:
        """Where a character of the text stands in the file; just the line when none is meant."""
        if offset is None:
            return self.line, None
        return self.places[offset] if self.places else (self.line, self.column + offset)


class Misread(NamedTuple):
    """Something that is not of the format."""

    line: int
    column: int | None
    message: str
