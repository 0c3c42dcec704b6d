"""Sources of puzzles: files, the standard input and shipped sets, and their lines."""

from __future__ import annotations

import os
import re
import stat
import sys
from contextlib import nullcontext
from dataclasses import dataclass
from importlib.util import find_spec
from pathlib import Path
from typing import IO, TextIO

from cagematch.problems.errors import Fault, FileError, InputError
from cagematch.scheduler.readers.content import content, without_suffix

SPREADSHEETS = (".csv", ".tsv")
HEADING = re.compile(r"\s*\"?[A-Za-z_]{2,}\"?\s*[,;\t]")
LONGEST_NAME = 200  # characters of the name of a set in the database


@dataclass(frozen=True, slots=True)
class Source:
    """The source of a set: the name of the set, the source as shown in messages, and its file.

    The path of the standard input is ``None``.
    """

    name: str
    shown: str
    path: Path | None


def find_source(word: str) -> Source:
    """Find the source that a user typed: a file, a pipe, ``-`` for the standard input, or a shipped set.

    Raises
    ------
    InputError
        There is no such source, or it cannot be read.
    """
    if word == "-":
        return Source("stdin", "standard input", None)
    if not word.strip():
        raise InputError("the name of a puzzle file is empty, expected a file or a shipped set")
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
        raise InputError(f"{shown} is a folder, expected a puzzle file; name a file in it")
    if mode:
        raise InputError(f"{shown} is a device or a socket, expected a puzzle file, or - for the standard input")
    known = ", ".join(shipped)
    raise InputError(f"there is no file {shown!r} and no shipped set with this name; the shipped sets are {known}")


def shipped_sets() -> dict[str, Path]:
    """Return the files of the shipped sets by name."""
    package = find_spec("cagematch.puzzles")
    folders = [Path(folder) for folder in (package.submodule_search_locations or [])] if package else []
    return {path.stem: path for folder in folders for path in sorted(folder.glob("*.txt"))}


def lines_of(source: Source) -> list[str]:
    """Read the lines of a source. Only LF, CR LF and CR end a line: labels may contain other separators.

    Raises
    ------
    InputError
        The source cannot be read or decompressed, or is too large.
    FileError
        The source is not text in UTF-8.
    """
    try:
        with source.path.open("rb") if source.path else nullcontext(_standard_input()) as stream:
            data = content(stream, source.shown)
    except OSError as error:
        raise InputError(f"{source.shown} cannot be read: {error.strerror}") from None
    try:
        text = _with_plain_ends(data.decode("utf-8-sig"))
    except UnicodeDecodeError as error:
        # The offset counts in `error.object`, which may lack the byte order mark of `data`.
        before = _with_plain_ends(error.object[: error.start].decode())
        message = f"found byte 0x{error.object[error.start]:02x}, expected UTF-8 text"
        raise _fault(source, before, message) from None
    before, found, _ = text.partition("\0")
    if found:
        raise _fault(source, before, "found a NUL character, expected text")
    return text.split("\n")


def spreadsheet_form(source: Source, lines: list[str]) -> str | None:
    """Return ``lines`` for a spreadsheet with a heading, which looks like the first row of a drawn grid."""
    return "lines" if _is_spreadsheet(source) and HEADING.match(lines[0]) else None


def explained(source: Source, faults: list[Fault], *, skipped: bool) -> list[Fault]:
    """Add a hint about the whole file to its first fault.

    Parameters
    ----------
    skipped
        Whether invalid puzzles were skipped, so that no valid one is left.
    """
    hint = f" (no valid puzzle in {source.shown})" if skipped else ""
    if _is_spreadsheet(source):
        hint += " (only the first column of a CSV file is read: put the puzzles there and remove the heading)"
    return [faults[0]._replace(message=faults[0].message + hint), *faults[1:]]


def _is_spreadsheet(source: Source) -> bool:
    return without_suffix(source.shown).lower().endswith(SPREADSHEETS)


def _with_plain_ends(text: str) -> str:
    return text.replace("\r\n", "\n").replace("\r", "\n")


def _fault(source: Source, before: str, message: str) -> FileError:
    lines = before.split("\n")
    return FileError([Fault(source.shown, len(lines), len(lines[-1]) + 1, message)])


def _standard_input() -> IO[bytes]:
    # The parent process may have closed it; Python's type of `sys.stdin` omits this case.
    stream: TextIO | None = sys.stdin
    if stream is None:
        raise InputError("the standard input is closed, expected puzzles from it")
    return stream.buffer


def _mode(path: Path) -> tuple[int, bool]:
    """Return the mode of a path, 0 if it does not exist or its name is invalid; and whether access is denied."""
    try:
        return path.stat().st_mode, False
    except PermissionError:
        return 0, True
    except (OSError, ValueError):
        return 0, False
