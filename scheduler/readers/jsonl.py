"""JSON lines: one object per line, one puzzle per object.

::

    {"id": "a label", "cages": [{"cells": [[0, 0], [0, 1]], "sum": 15}, ...]}
    {"kind": "sudoku", "puzzle": "53..7....6..195..."}

The puzzle is the text under ``puzzle``, or else the whole object. ``label`` or ``id`` is the label. ``kind`` is the
kind; without it, an object with ``cages`` is a killer. Blank lines and lines that start with ``#`` are skipped. NUL
characters and lone surrogates in a label become question marks, because databases cannot store them.
"""

from __future__ import annotations

import json
import re
from collections.abc import Iterator
from typing import Any

from cagematch.scheduler.readers.entries import DeclaredKind, Misread, PuzzleEntry, declared_kind

LABEL = ("label", "id")  # keys
UNSTORED = re.compile("[\0\ud800-\udfff]")


def recognises(content: list[str]) -> bool:
    return next((text.startswith("{") for _, _, text in _objects(content)), False)


def kind(content: list[str]) -> DeclaredKind | None:
    """Return the kind in the comments before the first puzzle, or else in the first object."""
    if declared := declared_kind(content):
        return declared
    for number, _, text in _objects(content):
        found = _read(text)
        if isinstance(found, dict):
            named = found.get("kind")
            if named is None and found.get("cages") is not None:
                named = "killer"
            return DeclaredKind(number, str(named)) if named is not None else None
    return None


def read(content: list[str]) -> Iterator[PuzzleEntry | Misread]:
    for number, column, text in _objects(content):
        found = _read(text)
        if isinstance(found, Misread):
            yield Misread(number, found.column and column + found.column, found.message)
        elif not isinstance(found, dict):
            yield Misread(number, column, f"found {text[:20]!r}, expected a JSON object")
        else:
            yield _entry(number, column, text, found)


def _entry(number: int, column: int, text: str, found: dict[str, Any]) -> PuzzleEntry | Misread:
    label, kind = UNSTORED.sub("?", _label(found)), found.get("kind")
    named = None if kind is None else str(kind)
    if found.get("cages") is not None or "puzzle" not in found:
        return PuzzleEntry(number, column, text, label, kind=named)
    puzzle = found["puzzle"]
    if not isinstance(puzzle, str):
        return Misread(number, None, f'"puzzle" is {json.dumps(puzzle)[:20]}, expected a string')
    inside = text.find(f'"{puzzle}"', text.find('"puzzle"'))
    if inside < 0:  # written with escapes
        return PuzzleEntry(number, column, puzzle, label, ((number, column),) * len(puzzle), named)
    return PuzzleEntry(number, column + inside + 1, puzzle, label, kind=named)


def _label(found: dict[str, Any]) -> str:
    return next((str(found[name]) for name in LABEL if found.get(name) is not None), "")


def _objects(content: list[str]) -> Iterator[tuple[int, int, str]]:
    """Yield the number, the first column and the text of each line that is neither blank nor a comment."""
    for number, line in enumerate(content, 1):
        text = line.strip()
        if text and not text.startswith("#"):
            yield number, line.index(text) + 1, text


def _read(text: str) -> Any:
    """Return the JSON value of a line, or a Misread with the offset in the text as its column."""
    try:
        return json.loads(text)
    except json.JSONDecodeError as error:
        return Misread(0, error.pos, f"invalid JSON: {error.msg}")
    except (ValueError, RecursionError):
        return Misread(0, None, "invalid JSON: a number is too long, or the nesting is too deep")
