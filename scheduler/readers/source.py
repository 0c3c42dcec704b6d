"""Where puzzles come from: a file, or a set that is shipped; and the lines of it."""

from __future__ import annotations

import os
import re
import stat
import sys
from contextlib import nullcontext
from dataclasses import dataclass, replace
from importlib.util import find_spec
from pathlib import Path
from typing import IO, TextIO

from cagematch.problems.errors import Fault, FileError, InputError
from cagematch.scheduler.readers.content import content, without_suffix

SPREADSHEETS = (".csv", ".tsv")
HEADING = re.compile(r"\s*\"?[A-Za-z_]{2,}\"?\s*[,;\t]")
LONGEST_NAME = 200  # characters that the database keeps of a set's name


@dataclass(frozen=True, slots=True)
class Source:
    """Where a set comes from: its name, how to show its origin, and its file; None for the standard input."""

    name: str
    shown: str
    path: Path | None


def find_source(word: str) -> Source:
    """A file, a pipe, ``-`` for the standard input, or the name of a shipped set."""
    if word == "-":
        return Source("stdin", "standard input", None)
    if not word.strip():
        raise InputError("the name of a puzzle file is empty; expected a file, or a shipped set")
    path = Path(word)
    shown = os.fsencode(word).decode(errors="replace")  # file names need not be text
    mode, denied = _mode(path)
    if stat.S_ISREG(mode) or stat.S_ISFIFO(mode):
        return Source(Path(without_suffix(shown)).stem[:LONGEST_NAME], shown, path)
    shipped = shipped_sets()
    if word in shipped:
        return Source(word, f"{word} (shipped)", shipped[word])
    if denied:
        raise InputError(f"{shown} cannot be read: permission denied")
    if stat.S_ISDIR(mode):
        raise InputError(f"{shown} is a folder; name a puzzle file in it")
    if mode:
        raise InputError(f"{shown} is a device or a socket; expected a puzzle file, or - for the standard input")
    known = ", ".join(shipped)
    raise InputError(f"there is no file {shown!r}, and no shipped set of that name (there are: {known})")


def shipped_sets() -> dict[str, Path]:
    """The sets that come with the program, by name."""
    package = find_spec("cagematch.puzzles")
    folders = [Path(folder) for folder in (package.submodule_search_locations or [])] if package else []
    return {path.stem: path for folder in folders for path in sorted(folder.glob("*.txt"))}


def lines_of(source: Source) -> list[str]:
    """The lines of a file, as LF, CR LF or CR end them: others at which Python splits are found in labels.

    Raises InputError when the file cannot be read, unpacked or held, and FileError when it is not text in UTF-8.
    """
    try:
        with source.path.open("rb") if source.path else nullcontext(_standard_input()) as stream:
            data = content(stream, source.shown)
    except OSError as error:
        raise InputError(f"{source.shown} cannot be read: {error.strerror}") from None
    try:
        text = _with_plain_ends(data.decode("utf-8-sig"))
    except UnicodeDecodeError as error:
        # The error's own offset may count from behind a byte order mark; its bytes are those that it counts in.
        before = _with_plain_ends(error.object[: error.start].decode())
        raise _fault(source, before, f"byte 0x{error.object[error.start]:02x} where UTF-8 text was expected") from None
    before, found, _ = text.partition("\0")
    if found:
        raise _fault(source, before, "a NUL character where text was expected")
    return text.split("\n")


def spreadsheet_form(source: Source, lines: list[str]) -> str | None:
    """``lines`` for a spreadsheet's file with a heading, which would be taken for the first row of a drawn grid."""
    return "lines" if _is_spreadsheet(source) and HEADING.match(lines[0]) else None


def explained(source: Source, faults: list[Fault], *, skipped: bool) -> list[Fault]:
    """The faults of a file, the first with what they have in common.

    ``skipped``: invalid puzzles were to be left out, and nothing is left.
    """
    more = f" (no valid puzzle in {source.shown})" if skipped else ""
    if _is_spreadsheet(source):
        more += " (of a CSV file the first column is read: put the puzzles there, and leave the heading out)"
    return [replace(faults[0], message=faults[0].message + more), *faults[1:]]


def _is_spreadsheet(source: Source) -> bool:
    return without_suffix(source.shown).lower().endswith(SPREADSHEETS)


def _with_plain_ends(text: str) -> str:
    return text.replace("\r\n", "\n").replace("\r", "\n")


def _fault(source: Source, before: str, message: str) -> FileError:
    lines = before.split("\n")
    return FileError([Fault(source.shown, len(lines), len(lines[-1]) + 1, message)])


def _standard_input() -> IO[bytes]:
    # Whoever started us may have closed it, which Python's types do not tell.
    stream: TextIO | None = sys.stdin
    if stream is None:
        raise InputError("there is no standard input to read")
    return stream.buffer


def _mode(path: Path) -> tuple[int, bool]:
    """What a path is, 0 where it is nothing or has an impossible name; and whether we may not look."""
    try:
        return path.stat().st_mode, False
    except PermissionError:
        return 0, True
    except (OSError, ValueError):
        return 0, False
