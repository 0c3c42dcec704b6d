"""Loading puzzle files, and storing them as sets. Nothing of a file with a fault is stored."""

from __future__ import annotations

import gc
import hashlib
from collections.abc import Iterator, Sequence
from contextlib import contextmanager
from dataclasses import dataclass, field
from itertools import count, islice, repeat
from operator import itemgetter
from secrets import token_hex
from typing import Any

from sqlalchemy import Connection, Engine, delete, func, insert, select, update
from sqlalchemy.exc import IntegrityError

from cagematch.models import PuzzleSet, StoredPuzzle
from cagematch.models.base import now
from cagematch.models.engine import reading, writing
from cagematch.problems.errors import Contradiction, Fault, FileError, InputError, PuzzleError
from cagematch.problems.kinds import KINDS, kind_named
from cagematch.scheduler.batches.callbacks import ProgressCallback
from cagematch.scheduler.readers import Reader, reader_for
from cagematch.scheduler.readers.entries import DEFAULT_KIND, Misread
from cagematch.scheduler.readers.source import Source, explained, find_source, lines_of, shipped_sets, spreadsheet_form

__all__ = ["Loaded", "Source", "find_source", "load", "shipped_sets", "store_set"]

# Rows per transaction. Smaller chunks rewrite more pages of the index; larger ones block other writers of SQLite for
# longer than the third of a second that this one takes.
CHUNK = 50_000
ROWS_PER_STATEMENT = 500
PUZZLES_PER_QUERY = 5_000
ABANDONED_S = 86_400  # a load that has not finished after a day was abandoned
NEW_PUZZLE = "INSERT INTO puzzle (kind, text, fingerprint) VALUES (?, ?, ?) ON CONFLICT (fingerprint) DO NOTHING"
NEW_ENTRY = "INSERT INTO set_entry (set_id, position, puzzle_id, line, label) VALUES (?, ?, ?, ?, ?)"
PuzzleRow = tuple[str, bytes, int, str]  # canonical text, fingerprint, line, label


@dataclass(slots=True)
class Loaded:
    """The puzzles of a file, ready to be stored, and the faults of those that were skipped."""

    source: Source
    kind: str
    rows: list[PuzzleRow] = field(default_factory=list)
    faults: list[Fault] = field(default_factory=list)

    @property
    def distinct(self) -> int:
        """The number of distinct puzzles."""
        return len({fingerprint for _, fingerprint, _, _ in self.rows})

    @property
    def digest(self) -> str:
        """The SHA-256 of the puzzles and their labels, in hexadecimal."""
        whole = hashlib.sha256(self.kind.encode())
        for _, fingerprint, _, label in self.rows:
            whole.update(fingerprint + label.encode() + b"\n")
        return whole.hexdigest()


@contextmanager
def _no_collection() -> Iterator[None]:
    """Disable the garbage collector: it would scan a hundred thousand live values again and again."""
    enabled = gc.isenabled()
    gc.disable()
    try:
        yield
    finally:
        if enabled:
            gc.enable()


@_no_collection()
def load(
    source: Source, kind: str | None, form: str | None, *, skip_invalid: bool, contradictions: bool = False
) -> Loaded:
    """Read a whole puzzle file.

    Parameters
    ----------
    kind
        The kind of puzzle in a file that does not declare one. ``None`` is the default kind.
    form
        The name of the file format. ``None`` detects it.
    skip_invalid
        Skip invalid puzzles if the file contains a valid one.
    contradictions
        Accept grids with contradicting givens, for the task repair.

    Raises
    ------
    FileError
        The file has faults; the error lists up to ten of them.
    InputError
        The file cannot be read, contains no puzzle, or the kind or the format does not exist.
    """
    content = lines_of(source)
    reader = reader_for(content, form or spreadsheet_form(source, content), kind)
    kind = _kind(source, reader, content, kind)
    loaded = Loaded(source, kind)
    _parse(loaded, reader, content, contradictions=contradictions)
    if loaded.faults and not (skip_invalid and loaded.rows):
        raise FileError(explained(source, loaded.faults, skipped=skip_invalid))
    if not loaded.rows:
        raise InputError(f"{source.shown} contains no puzzle, expected at least one")
    return loaded


def _parse(loaded: Loaded, reader: Reader, content: list[str], *, contradictions: bool) -> None:
    """Add the rows and the faults of a file."""
    shown, kind, parse = loaded.source.shown, loaded.kind, kind_named(loaded.kind).parse
    prefix, sha256, keep = f"{kind}\n".encode(), hashlib.sha256, loaded.rows.append
    for entry in reader.read(content):
        if isinstance(entry, Misread):
            loaded.faults.append(Fault(shown, *entry))
            continue
        if entry.kind not in (None, kind):
            loaded.faults.append(Fault(shown, entry.line, None, f"found kind {entry.kind!r}, expected {kind!r}"))
            continue
        try:
            text = parse(entry.text)
        except PuzzleError as error:
            if contradictions and isinstance(error, Contradiction):
                keep((error.text, sha256(prefix + error.text.encode()).digest(), entry.line, entry.label))
                continue
            loaded.faults.append(Fault(shown, *entry.place(error.offset), str(error)))
        else:
            keep((text, sha256(prefix + text.encode()).digest(), entry.line, entry.label))


def _kind(source: Source, reader: Reader, content: list[str], option: str | None) -> str:
    """Return the kind that the file declares, or else the option --kind, which must not contradict the file."""
    declared = reader.kind(content)
    if declared is None:
        return option or DEFAULT_KIND
    if declared.kind not in KINDS:
        message = f"found the kind {declared.kind!r}, expected one of {', '.join(KINDS)}"
        raise FileError([Fault(source.shown, declared.line, None, message)])
    if option not in (None, declared.kind):
        message = f"the file declares the kind {declared.kind}, but --kind is {option}; remove --kind"
        raise FileError([Fault(source.shown, declared.line, None, message)])
    return declared.kind


@_no_collection()
def store_set(engine: Engine, loaded: Loaded, report: ProgressCallback | None = None) -> int:
    """Store a set in chunks, or reuse the stored set with the same name and content.

    The set is invisible to other processes until its last chunk is stored.

    Parameters
    ----------
    report
        Called after each chunk with the puzzles stored so far, and the puzzles in total.

    Returns
    -------
    int
        The id of the set.
    """
    digest = loaded.digest
    with reading(engine) as connection:
        known = _ready(connection, loaded, digest)
    if known is not None:
        return known
    set_id = _begin(engine, loaded)
    for start in range(0, len(loaded.rows), CHUNK):
        with writing(engine) as connection:
            _store_chunk(connection, loaded, set_id, start)
        if report:
            report(min(start + CHUNK, len(loaded.rows)), len(loaded.rows))
    try:
        with writing(engine) as connection:
            ready = update(PuzzleSet).where(PuzzleSet.id == set_id).values(digest=digest, ready=True)
            connection.execute(ready)
    except IntegrityError:  # another process has stored the same file first
        with writing(engine) as connection:
            connection.execute(delete(PuzzleSet).where(PuzzleSet.id == set_id))
            set_id = _ready(connection, loaded, digest) or set_id
    return set_id


def _ready(connection: Connection, loaded: Loaded, digest: str) -> int | None:
    same = (PuzzleSet.name == loaded.source.name, PuzzleSet.digest == digest, PuzzleSet.ready)
    return connection.scalar(select(PuzzleSet.id).where(*same))


def _begin(engine: Engine, loaded: Loaded) -> int:
    """Create a set under a digest unique to this load, and delete abandoned sets."""
    values = {"name": loaded.source.name, "source": loaded.source.shown, "digest": f"loading {token_hex(16)}"}
    abandoned = (PuzzleSet.ready.is_(False), PuzzleSet.created_at < now() - ABANDONED_S)
    with writing(engine) as connection:
        connection.execute(delete(PuzzleSet).where(*abandoned))
        made = insert(PuzzleSet).values(ready=False, created_at=now(), **values).returning(PuzzleSet.id)
        return int(connection.execute(made).scalar_one())


def _store_chunk(connection: Connection, loaded: Loaded, set_id: int, start: int) -> None:
    texts, fingerprints, lines, labels = zip(*loaded.rows[start : start + CHUNK], strict=True)
    before = connection.scalar(select(func.max(StoredPuzzle.id))) or 0
    new: Iterator[tuple[str, str, bytes]] = zip(repeat(loaded.kind), texts, fingerprints)
    server = connection.dialect.name == "postgresql"
    if server:
        # A fixed order prevents a deadlock of two loads that share puzzles.
        new = iter(sorted(new, key=itemgetter(2)))
    inserted = _insert(connection, NEW_PUZZLE, new)
    if inserted == len(texts) and not server:
        ids = iter(range(before + 1, before + 1 + inserted))  # SQLite has one writer, so its ids are consecutive
    else:
        ids = map(_ids(connection, fingerprints, before).__getitem__, fingerprints)
    _insert(connection, NEW_ENTRY, zip(repeat(set_id), count(start), ids, lines, labels))


def _insert(connection: Connection, statement: str, rows: Iterator[tuple[Any, ...]]) -> int:
    """Insert rows through the driver, as SQLAlchemy's layers cost more than the insert; return how many were new."""
    if connection.dialect.name == "postgresql":
        statement = statement.replace("?", "%s")
    inserted = 0
    while some := list(islice(rows, ROWS_PER_STATEMENT)):
        inserted += connection.exec_driver_sql(statement, some).rowcount
    return inserted


def _ids(connection: Connection, fingerprints: Sequence[bytes], before: int) -> dict[bytes, int]:
    """Return the ids of puzzles. Those inserted in this chunk have ids above ``before``; the rest are queried."""
    query = select(StoredPuzzle.fingerprint, StoredPuzzle.id)
    known = {row[0]: row[1] for row in connection.execute(query.where(StoredPuzzle.id > before))}
    others = list(set(fingerprints) - known.keys())
    for at in range(0, len(others), PUZZLES_PER_QUERY):
        wanted = StoredPuzzle.fingerprint.in_(others[at : at + PUZZLES_PER_QUERY])
        known |= {row[0]: row[1] for row in connection.execute(query.where(wanted))}
    return known
