"""Files into puzzles, and puzzles into sets of the database. A file with a fault leaves nothing behind."""

from __future__ import annotations

import gc
import hashlib
from collections.abc import Callable, Iterator, Sequence
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
from cagematch.scheduler.readers import Reader, reader_for
from cagematch.scheduler.readers.entries import DEFAULT_KIND, Misread
from cagematch.scheduler.readers.source import Source, explained, find_source, lines_of, shipped_sets, spreadsheet_form

__all__ = ["Loaded", "Source", "find_source", "load", "shipped_sets", "store_set"]

# Each chunk is a transaction. A smaller one writes more pages of the index again, a larger one keeps other
# writers of SQLite waiting for longer than the third of a second that this one takes.
CHUNK = 50_000
AT_ONCE = 500  # rows a statement
LOOKED_UP = 5_000  # puzzles a query
ABANDONED_S = 86_400  # a load that has not ended after a day never will
NEW_PUZZLE = "INSERT INTO puzzle (kind, text, fingerprint) VALUES (?, ?, ?) ON CONFLICT (fingerprint) DO NOTHING"
NEW_ENTRY = "INSERT INTO set_entry (set_id, position, puzzle_id, line, label) VALUES (?, ?, ?, ?, ?)"
Noticed = Callable[[int, int], None]  # puzzles stored so far, of how many
Read = tuple[str, bytes, int, str]  # canonical text, fingerprint, line, label


@dataclass(slots=True)
class Loaded:
    """A file's puzzles, ready to be stored, and what was left out."""

    source: Source
    kind: str
    rows: list[Read] = field(default_factory=list)
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


@contextmanager
def _no_collection() -> Iterator[None]:
    """Keep the garbage collector from looking through a hundred thousand new values, none of which is garbage."""
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
    """Read a whole file. Raises FileError, naming up to ten faults, unless invalid puzzles are to be skipped.

    ``kind``: what the file holds if it does not say so itself; None where the user did not say it either.
    ``contradictions``: whether to take grids in which a value is given twice, as they are to be repaired.
    """
    content = lines_of(source)
    reader = reader_for(content, form or spreadsheet_form(source, content), kind)
    kind = _kind(source, reader, content, kind)
    parse = kind_named(kind).parse
    loaded = Loaded(source, kind)
    prefix, sha256, keep = f"{kind}\n".encode(), hashlib.sha256, loaded.rows.append
    for entry in reader.read(content):
        if isinstance(entry, Misread):
            loaded.faults.append(Fault(source.shown, *entry))
            continue
        if entry.kind not in (None, kind):
            other = f"a puzzle of kind {entry.kind!r}, expected {kind!r}"
            loaded.faults.append(Fault(source.shown, entry.line, None, other))
            continue
        try:
            text = parse(entry.text)
        except PuzzleError as error:
            if contradictions and isinstance(error, Contradiction):
                keep((error.text, sha256(prefix + error.text.encode()).digest(), entry.line, entry.label))
                continue
            loaded.faults.append(Fault(source.shown, *entry.place(error.offset), str(error)))
        else:
            keep((text, sha256(prefix + text.encode()).digest(), entry.line, entry.label))
    if loaded.faults and not (skip_invalid and loaded.rows):
        raise FileError(explained(source, loaded.faults, skipped=skip_invalid))
    if not loaded.rows:
        raise InputError(f"{source.shown} holds no puzzle")
    return loaded


def _kind(source: Source, reader: Reader, content: list[str], asked: str | None) -> str:
    """What a file says of itself counts; --kind is for files that say nothing, and may not contradict."""
    told = reader.kind(content)
    if told is None:
        return asked or DEFAULT_KIND
    if told.kind not in KINDS:
        known = f"no kind of puzzle is called {told.kind!r}; there are: {', '.join(KINDS)}"
        raise FileError([Fault(source.shown, told.line, None, known)])
    if asked not in (None, told.kind):
        raise FileError([Fault(source.shown, told.line, None, f"the file holds {told.kind}, and --kind says {asked}")])
    return told.kind


@_no_collection()
def store_set(engine: Engine, loaded: Loaded, noticed: Noticed | None = None) -> int:
    """Store a set in chunks and return its number; one with the same name and content is taken as it is.

    Until its last chunk is in, the set is not ready, and nothing else sees it.
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
        if noticed:
            noticed(min(start + CHUNK, len(loaded.rows)), len(loaded.rows))
    try:
        with writing(engine) as connection:
            ready = update(PuzzleSet).where(PuzzleSet.id == set_id).values(digest=digest, ready=True)
            connection.execute(ready)
    except IntegrityError:  # another load of the same file was quicker
        with writing(engine) as connection:
            connection.execute(delete(PuzzleSet).where(PuzzleSet.id == set_id))
            set_id = _ready(connection, loaded, digest) or set_id
    return set_id


def _ready(connection: Connection, loaded: Loaded, digest: str) -> int | None:
    same = (PuzzleSet.name == loaded.source.name, PuzzleSet.digest == digest, PuzzleSet.ready)
    return connection.scalar(select(PuzzleSet.id).where(*same))


def _begin(engine: Engine, loaded: Loaded) -> int:
    """Make a set under a digest that no other load of the same file can have, and clear away abandoned ones."""
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
        # Always in the same order: two loads that share puzzles would otherwise wait for each other.
        new = iter(sorted(new, key=itemgetter(2)))
    inserted = _insert(connection, NEW_PUZZLE, new)
    if inserted == len(texts) and not server:
        ids = iter(range(before + 1, before + 1 + inserted))  # SQLite, which we alone write to now, counts on
    else:
        ids = map(_ids(connection, fingerprints, before).__getitem__, fingerprints)
    _insert(connection, NEW_ENTRY, zip(repeat(set_id), count(start), ids, lines, labels))


def _insert(connection: Connection, statement: str, rows: Iterator[tuple[Any, ...]]) -> int:
    """Hand rows to the driver as they are, as SQLAlchemy's own ways cost more than the insert; say how many went in."""
    if connection.dialect.name == "postgresql":
        statement = statement.replace("?", "%s")
    inserted = 0
    while some := list(islice(rows, AT_ONCE)):
        inserted += connection.exec_driver_sql(statement, some).rowcount
    return inserted


def _ids(connection: Connection, fingerprints: Sequence[bytes], before: int) -> dict[bytes, int]:
    """The numbers of puzzles: those inserted just now have numbers above ``before``, the rest are looked up."""
    query = select(StoredPuzzle.fingerprint, StoredPuzzle.id)
    known = {row[0]: row[1] for row in connection.execute(query.where(StoredPuzzle.id > before))}
    others = list(set(fingerprints) - known.keys())
    for at in range(0, len(others), LOOKED_UP):
        wanted = StoredPuzzle.fingerprint.in_(others[at : at + LOOKED_UP])
        known |= {row[0]: row[1] for row in connection.execute(query.where(wanted))}
    return known
