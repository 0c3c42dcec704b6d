"""Files into puzzles, and puzzles into sets of the database. A file with a fault leaves nothing behind."""

from __future__ import annotations

import hashlib
from collections.abc import Callable
from dataclasses import dataclass, field
from importlib.util import find_spec
from pathlib import Path
from typing import Any

from sqlalchemy import Connection, Engine, delete, insert, select, update

from models import Puzzle, PuzzleSet, SetEntry
from models.base import now
from models.engine import insert_new, writing
from problems.errors import Fault, FileError, InputError, PuzzleError
from problems.kinds import kind_named
from scheduler.readers import reader_for
from scheduler.readers.entries import Misread

CHUNK = 5_000
Noticed = Callable[[int, int], None]  # puzzles stored so far, of how many


@dataclass(frozen=True, slots=True)
class Source:
    """Where a set comes from: its name, how to show its origin, and its file."""

    name: str
    shown: str
    path: Path


@dataclass(slots=True)
class Loaded:
    """A file's puzzles, ready to be stored: (canonical text, fingerprint, line, label), and what was left out."""

    source: Source
    kind: str
    rows: list[tuple[str, bytes, int, str]] = field(default_factory=list)
    faults: list[Fault] = field(default_factory=list)

    @property
    def distinct(self) -> int:
        """How many different puzzles there are."""
        return len({fingerprint for _, fingerprint, _, _ in self.rows})

    @property
    def digest(self) -> str:
        """SHA-256 over the puzzles and their labels."""
        whole = hashlib.sha256(self.kind.encode())
        for _, fingerprint, _, label in self.rows:
            whole.update(fingerprint + label.encode() + b"\n")
        return whole.hexdigest()


def find_source(word: str) -> Source:
    """A file, or the name of a shipped set."""
    path = Path(word)
    if path.is_file():
        return Source(path.stem, str(path), path)
    shipped = shipped_sets()
    if word in shipped:
        return Source(word, f"{word} (shipped)", shipped[word])
    if path.is_dir():
        raise InputError(f"{word} is a folder; name a puzzle file in it")
    raise InputError(f"there is no file {word!r}, and no shipped set of that name (there are: {', '.join(shipped)})")


def shipped_sets() -> dict[str, Path]:
    """The sets that come with the program, by name."""
    package = find_spec("puzzles")
    folders = [Path(folder) for folder in (package.submodule_search_locations or [])] if package else []
    return {path.stem: path for folder in folders for path in sorted(folder.glob("*.txt"))}


def load(source: Source, kind: str, form: str | None, *, skip_invalid: bool) -> Loaded:
    """Read a whole file. Raises FileError, naming up to ten faults, unless invalid puzzles are to be skipped."""
    rules = kind_named(kind)
    loaded = Loaded(source, kind)
    content = _lines(source)
    prefix = f"{kind}\n".encode()
    sha256, parse, rows = hashlib.sha256, rules.parse, loaded.rows
    for entry in reader_for(content, form).read(content):
        if isinstance(entry, Misread):
            loaded.faults.append(Fault(source.shown, *entry))
            continue
        try:
            text = parse(entry.text)
        except PuzzleError as error:
            loaded.faults.append(Fault(source.shown, *entry.place(error.offset), str(error)))
            continue
        rows.append((text, sha256(prefix + text.encode()).digest(), entry.line, entry.label))
    if loaded.faults and not skip_invalid:
        raise FileError(loaded.faults, len(loaded.faults))
    if not rows:
        raise InputError(f"{source.shown} holds no puzzle")
    return loaded


def store_set(engine: Engine, loaded: Loaded, noticed: Noticed | None = None) -> int:
    """Store a set in chunks and return its number; one with the same name and content is taken as it is.

    Until its last chunk is in, the set is not ready, and nothing else sees it.
    """
    digest = loaded.digest
    with writing(engine) as connection:
        known = connection.execute(
            select(PuzzleSet.id, PuzzleSet.ready).where(
                PuzzleSet.name == loaded.source.name, PuzzleSet.digest == digest
            )
        ).one_or_none()
        if known and known.ready:
            return int(known.id)
        if known:  # left by a load that did not end
            connection.execute(delete(PuzzleSet).where(PuzzleSet.id == known.id))
        values = {"name": loaded.source.name, "digest": digest, "source": loaded.source.shown, "ready": False}
        inserted = connection.execute(insert(PuzzleSet).values(created_at=now(), **values).returning(PuzzleSet.id))
        set_id = int(inserted.scalar_one())
    for start in range(0, len(loaded.rows), CHUNK):
        with writing(engine) as connection:
            _store_chunk(connection, loaded, set_id, start)
        if noticed:
            noticed(min(start + CHUNK, len(loaded.rows)), len(loaded.rows))
    with writing(engine) as connection:
        connection.execute(update(PuzzleSet).where(PuzzleSet.id == set_id).values(ready=True))
    return set_id


def _store_chunk(connection: Connection, loaded: Loaded, set_id: int, start: int) -> None:
    rows = loaded.rows[start : start + CHUNK]
    kind = loaded.kind
    known = _ids(connection, rows)
    new = {fingerprint: text for text, fingerprint, _, _ in rows if fingerprint not in known}
    insert_new(
        connection,
        Puzzle.__table__,
        [{"kind": kind, "text": text, "fingerprint": fingerprint} for fingerprint, text in new.items()],
    )
    if new:
        known = _ids(connection, rows)
    entries: list[dict[str, Any]] = [
        {"set_id": set_id, "position": start + at, "puzzle_id": known[fingerprint], "line": line, "label": label}
        for at, (_, fingerprint, line, label) in enumerate(rows)
    ]
    connection.execute(insert(SetEntry), entries)


def _ids(connection: Connection, rows: list[tuple[str, bytes, int, str]]) -> dict[bytes, int]:
    wanted = {fingerprint for _, fingerprint, _, _ in rows}
    found = connection.execute(select(Puzzle.fingerprint, Puzzle.id).where(Puzzle.fingerprint.in_(wanted)))
    return {fingerprint: puzzle_id for fingerprint, puzzle_id in found}


def _lines(source: Source) -> list[str]:
    """The lines of a file. Only LF and CR LF end a line: some characters that Python splits at are found in labels."""
    try:
        data = source.path.read_bytes()
    except OSError as error:
        raise InputError(f"{source.shown} cannot be read: {error.strerror}") from None
    try:
        text = data.decode("utf-8-sig")
    except UnicodeDecodeError as error:
        line = data.count(b"\n", 0, error.start) + 1
        found = f"byte 0x{data[error.start]:02x} where UTF-8 text was expected"
        raise FileError([Fault(source.shown, line, None, found)]) from None
    if "\0" in text:
        line = text.count("\n", 0, text.index("\0")) + 1
        raise FileError([Fault(source.shown, line, None, "a NUL character where text was expected")])
    return [line.removesuffix("\r") for line in text.split("\n")]
