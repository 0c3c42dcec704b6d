"""SQL tables and sessions. Every other package reads and writes through these."""

from models.base import Base
from models.batches import (
    Batch,
    BatchConfiguration,
    BatchPuzzle,
    BatchSet,
    BatchState,
    Configuration,
    Shard,
    ShardState,
)
from models.fleet import Host, Lease, Worker
from models.puzzles import Puzzle, PuzzleSet, SetEntry
from models.runs import Run, Shift, Size

__all__ = [
    "Base",
    "Batch",
    "BatchConfiguration",
    "BatchPuzzle",
    "BatchSet",
    "BatchState",
    "Configuration",
    "Host",
    "Lease",
    "Puzzle",
    "PuzzleSet",
    "Run",
    "SetEntry",
    "Shard",
    "ShardState",
    "Shift",
    "Size",
    "Worker",
]
