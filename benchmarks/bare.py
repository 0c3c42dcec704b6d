"""A bare loop: the backend's code alone, in one pinned process per core, without storage, checks or limits.

``python -m benchmarks.bare CONFIG SET REPEATS``
"""

from __future__ import annotations

import multiprocessing
import os
import sys
import time
from concurrent.futures import ProcessPoolExecutor
from dataclasses import dataclass
from multiprocessing.synchronize import Barrier

from cagematch.scheduler.batches.puzzle_sets import find_source, load
from cagematch.workers.configurations import configuration
from cagematch.workers.machine.topology import usable_cores
from cagematch.workers.sandbox.solving import measure, problem_of

KIND = "sudoku"
LIMIT_S = 3.0  # Time limit of a run, in seconds.
WARM_UPS = 3  # Untimed solves before a measurement.
START_S = 60.0  # Seconds for all processes to become ready.


@dataclass(frozen=True, slots=True)
class Share:
    """The runs of one process, and its core."""

    core: int
    word: str
    set_name: str
    runs: range


def texts(name: str) -> list[str]:
    """Return the puzzles of a shipped set."""
    return [text for text, *_ in load(find_source(name), KIND, None, skip_invalid=False).rows]


def rate(word: str, name: str, repeats: int) -> float:
    """Return runs per second over all cores, from the common start after the warm-up to the end of the last process."""
    cores, runs = usable_cores(), repeats * len(texts(name))
    spawn = multiprocessing.get_context("spawn")
    start = spawn.Barrier(len(cores))
    shares = [Share(core, word, name, range(first, runs, len(cores))) for first, core in enumerate(cores)]
    with ProcessPoolExecutor(len(cores), spawn, _prepare, (start,)) as processes:
        spans = list(processes.map(_loop, shares))
    return runs / (max(end for _, end in spans) - min(begin for begin, _ in spans))


_start: list[Barrier] = []


def _prepare(start: Barrier) -> None:
    _start.append(start)


def _loop(share: Share) -> tuple[float, float]:
    os.sched_setaffinity(0, [share.core])
    chosen, puzzles = configuration(share.word), texts(share.set_name)
    for text in puzzles[:WARM_UPS]:
        measure(chosen, problem_of(KIND, text), 0, LIMIT_S)
    _start[0].wait(START_S)
    begun = time.monotonic()
    for run in share.runs:
        repeat, at = divmod(run, len(puzzles))
        measure(chosen, problem_of(KIND, puzzles[at]), repeat, LIMIT_S)
    return begun, time.monotonic()


if __name__ == "__main__":
    print(f"{rate(sys.argv[1], sys.argv[2], int(sys.argv[3])):.2f} runs/s")
