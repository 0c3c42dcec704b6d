"""JSON lines: one object a line, and each a puzzle.

::

    {"id": "a label", "cages": [{"cells": [[0, 0], [0, 1]], "sum": 15}, ...]}
    {"kind": "sudoku", "puzzle": "53..7....6..195..."}

The puzzle is the text that is called so, or else the whole object, as of what has cages. ``id`` or ``label`` is the
label. ``kind`` names the kind; without it, what has cages is a killer. Blank lines and lines that start with ``#`` are
passed over. A label's NUL and half characters, which no database stores, are question marks.
"""

from __future__ import annotations

import json
import re
from collections.abc import Iterator
from typing import Any

from cagematch.scheduler.readers.entries import Misread, PuzzleEntry, Told, told_kind

LABEL = ("label", "id")
UNSTORED = re.compile("[\0\ud800-\udfff]")


def recognises(content: list[str]) -> bool:
    return next((text.startswith("{") for _, _, text in _objects(content)), False)


def kind(content: list[str]) -> Told | None:
    """What the comments in front say, or else the first line that is an object."""
    if told := told_kind(content):
        return told
    for number, _, text in _objects(content):
        found = _read(text)
        if isinstance(found, dict):
            named = found.get("kind")
            if named is None and found.get("cages") is not None:
                named = "killer"
            return Told(number, str(named)) if named is not None else None
    return None


def read(content: list[str]) -> Iterator[PuzzleEntry | Misread]:
    for number, column, text in _objects(content):
        found = _read(text)
        if isinstance(found, Misread):
            yield Misread(number, found.column and column + found.column, found.message)
        elif not isinstance(found, dict):
            yield Misread(number, column, f"found {text[:20]!r}, expected an object in braces")
        else:
            yield _entry(number, column, text, found)


def _entry(number: int, column: int, text: str, found: dict[str, Any]) -> PuzzleEntry | Misread:
    label, kind = UNSTORED.sub("?", _label(found)), found.get("kind")
    named = None if kind is None else str(kind)
    if found.get("cages") is not None or "puzzle" not in found:
        return PuzzleEntry(number, column, text, label, kind=named)
    puzzle = found["puzzle"]
    if not isinstance(puzzle, str):
        return Misread(number, None, f'"puzzle" is {json.dumps(puzzle)[:20]}, expected a text')
    inside = text.find(f'"{puzzle}"', text.find('"puzzle"'))
    if inside < 0:  # written with escapes
        return PuzzleEntry(number, column, puzzle, label, ((number, column),) * len(puzzle), named)
    return PuzzleEntry(number, column + inside + 1, puzzle, label, kind=named)


def _label(found: dict[str, Any]) -> str:
    return next((str(found[name]) for name in LABEL if found.get(name) is not None), "")


def _objects(content: list[str]) -> Iterator[tuple[int, int, str]]:
    """Each line that is not blank and no comment: its number, the column where it starts, and its text."""
    for number, line in enumerate(content, 1):
        text = line.strip()
        if text and not text.startswith("#"):
            yield number, line.index(text) + 1, text


def _read(text: str) -> Any:
    """The value of a line, or a Misread whose column counts from 0 in it."""
    try:
        return json.loads(text)
    except json.JSONDecodeError as error:
        return Misread(0, error.pos, f"this is no JSON: {error.msg}")
    except (ValueError, RecursionError):
        return Misread(0, None, "this is no JSON that can be read: too long a number, or too deep")
