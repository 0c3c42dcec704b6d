"""Where puzzles come from: a file, or a set that is shipped; and the lines of it."""

from __future__ import annotations

import os
from collections.abc import Callable
from dataclasses import dataclass
from importlib.util import find_spec
from pathlib import Path

from problems.errors import Fault, FileError, InputError

LONGEST_NAME = 200  # characters that the database keeps of a set's name


@dataclass(frozen=True, slots=True)
class Source:
    """Where a set comes from: its name, how to show its origin, and its file."""

    name: str
    shown: str
    path: Path


def find_source(word: str) -> Source:
    """A file, or the name of a shipped set."""
    path = Path(word)
    shown = os.fsencode(word).decode(errors="replace")  # file names need not be text
    if _is(Path.is_file, path):
        return Source(Path(shown).stem[:LONGEST_NAME], shown, path)
    shipped = shipped_sets()
    if word in shipped:
        return Source(word, f"{word} (shipped)", shipped[word])
    if _is(Path.is_dir, path):
        raise InputError(f"{shown} is a folder; name a puzzle file in it")
    known = ", ".join(shipped)
    raise InputError(f"there is no file {shown!r}, and no shipped set of that name (there are: {known})")


def shipped_sets() -> dict[str, Path]:
    """The sets that come with the program, by name."""
    package = find_spec("puzzles")
    folders = [Path(folder) for folder in (package.submodule_search_locations or [])] if package else []
    return {path.stem: path for folder in folders for path in sorted(folder.glob("*.txt"))}


def lines_of(source: Source) -> list[str]:
    """The lines of a file, as LF, CR LF or CR end them: others at which Python splits are found in labels.

    Raises InputError when the file cannot be read, and FileError when it is not text in UTF-8.
    """
    try:
        data = source.path.read_bytes()
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


def _with_plain_ends(text: str) -> str:
    return text.replace("\r\n", "\n").replace("\r", "\n")


def _fault(source: Source, before: str, message: str) -> FileError:
    lines = before.split("\n")
    return FileError([Fault(source.shown, len(lines), len(lines[-1]) + 1, message)])


def _is(what: Callable[[Path], bool], path: Path) -> bool:
    """Ask of a path what it is; False where it cannot even be looked at, as when its name is too long."""
    try:
        return what(path)
    except (OSError, ValueError):
        return False
