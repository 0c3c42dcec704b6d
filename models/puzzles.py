"""Puzzles and puzzle sets."""

from __future__ import annotations

from sqlalchemy import ForeignKey, LargeBinary, Text, UniqueConstraint
from sqlalchemy.orm import Mapped, mapped_column

from cagematch.models.base import Base, Id, Instant, LimitedText, ShortText


class StoredPuzzle(Base):
    """One instance, stored once for all files. ``fingerprint``: SHA-256 of kind and canonical text."""

    __tablename__ = "puzzle"

    id: Mapped[Id]
    kind: Mapped[ShortText]
    text: Mapped[str] = mapped_column(Text)
    fingerprint: Mapped[bytes] = mapped_column(LargeBinary(32), unique=True)


class PuzzleSet(Base):
    """The puzzles of one file. ``digest``: SHA-256 (hex) over its puzzles and labels.

    ``ready`` becomes true when the last puzzle is stored. Until then the set is invisible.
    """

    __tablename__ = "puzzle_set"
    __table_args__ = (UniqueConstraint("name", "digest"),)

    id: Mapped[Id]
    name: Mapped[str] = mapped_column(LimitedText)
    digest: Mapped[ShortText]
    source: Mapped[str] = mapped_column(LimitedText)
    ready: Mapped[bool] = mapped_column(default=False)
    created_at: Mapped[Instant]


class SetEntry(Base):
    """One puzzle of a set at its ``position`` in the file, with its line number and its label."""

    __tablename__ = "set_entry"

    set_id: Mapped[int] = mapped_column(ForeignKey("puzzle_set.id", ondelete="CASCADE"), primary_key=True)
    position: Mapped[int] = mapped_column(primary_key=True)
    puzzle_id: Mapped[int] = mapped_column(ForeignKey("puzzle.id"), index=True)
    line: Mapped[int]
    label: Mapped[str] = mapped_column(LimitedText)
