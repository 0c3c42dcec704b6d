"""Lines: one puzzle per line, followed by its label.

::

    4.....8.5.3..........7......2.....6.....8.4......1.......6.3.7.5..2.....1.4......  # a comment
    2x3:1.....2.....34..... and so on, all six rows without a separator

A prefix of a letter or a shape (``X:``, ``2x3:``) belongs to the puzzle. Blank lines and lines that start with ``#``
are skipped.
"""

from __future__ import annotations

import re
from collections.abc import Iterator

from cagematch.scheduler.readers.entries import Misread, PuzzleEntry, declared_kind

PUZZLE = re.compile(r"\s*((?:(?:[A-Za-z]|[0-9]+[xX][0-9]+):)*[^\s,;:|#/]+)")
SEPARATORS = " \t,;:|#/"


kind = declared_kind


def recognises(content: list[str]) -> bool:  # noqa: ARG001
    return True


def read(content: list[str]) -> Iterator[PuzzleEntry | Misread]:
    for number, line in enumerate(content, 1):
        if found := PUZZLE.match(line):
            label = line[found.end() :]
            yield PuzzleEntry(number, found.start(1) + 1, found[1], label and label.lstrip(SEPARATORS).rstrip())
        elif (bare := line.strip()) and not bare.startswith("#"):
            column = line.index(bare) + 1
            yield Misread(number, column, f"found {bare[:20]!r}, expected a puzzle")
