"""SQL tables and engines: the only access to the database."""

from cagematch.models.base import Base
from cagematch.models.batches import (
    Batch,
    BatchConfiguration,
    BatchPuzzle,
    BatchSet,
    BatchState,
    Shard,
    ShardState,
    StoredConfiguration,
)
from cagematch.models.fleet import DutyLease, Host, Worker
from cagematch.models.puzzles import PuzzleSet, SetEntry, StoredPuzzle
from cagematch.models.runs import Run, Shift, StoredSize

__all__ = [
    "Base",
    "Batch",
    "BatchConfiguration",
    "BatchPuzzle",
    "BatchSet",
    "BatchState",
    "DutyLease",
    "Host",
    "PuzzleSet",
    "Run",
    "SetEntry",
    "Shard",
    "ShardState",
    "Shift",
    "StoredConfiguration",
    "StoredPuzzle",
    "StoredSize",
    "Worker",
]
