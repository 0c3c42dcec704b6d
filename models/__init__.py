"""SQL tables and sessions. Every other package reads and writes through these."""

from cagematch.models.base import Base
from cagematch.models.batches import (
    Batch,
    BatchConfiguration,
    BatchPuzzle,
    BatchSet,
    BatchState,
    Configuration,
    Shard,
    ShardState,
)
from cagematch.models.fleet import Host, Lease, Worker
from cagematch.models.puzzles import Puzzle, PuzzleSet, SetEntry
from cagematch.models.runs import Run, Shift, Size

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
