"""The preset cp-sat-fast compared with CP-SAT with four workers and with one: whole runs, build and solve.

``python -m benchmarks.tuned hard|FILE REPEATS`` prints the median and 99th percentile of each configuration over the
puzzles. The time of a puzzle is the median of its runs, so a disturbed run does not count.
"""

from __future__ import annotations

import multiprocessing
import sys
from collections.abc import Iterator
from concurrent.futures import ProcessPoolExecutor
from functools import cache, partial
from pathlib import Path
from statistics import median

from benchmarks.bare import KIND, WARM_UPS, texts
from benchmarks.harness.pairs import Contest, Figure
from cagematch.problems.problem import Problem
from cagematch.scheduler.reports.statistics import percentile
from cagematch.workers.configurations import Configuration, configuration
from cagematch.workers.sandbox.solving import measure, problem_of

PRESET = "cp-sat-fast"
# The configurations to compare with, and how many times as long each must take.
TARGETS = {"cp-sat": 2.0, "cp-sat:workers=1": 1.3}
HARDEST = str(Path(__file__).with_name("hardest.txt"))
SETS = {"hard": 5, HARDEST: 3}  # By set: how often a pair runs each puzzle.
SHARES = {"median": 0.5, "99th percentile": 0.99}
LIMIT_S = 60.0  # Time limit of a run, in seconds.


def figures() -> Iterator[Figure]:
    """Yield a figure for every set, configuration and statistic."""
    for name in SETS:
        for rival, target in TARGETS.items():
            for statistic, share in SHARES.items():
                title = f"tuned, {rival} / {PRESET}, {Path(name).stem}, {statistic}"
                yield Figure(title, "runs/s", target, partial(_contest, name, rival, share))


def _contest(name: str, rival: str, share: float) -> Contest:
    def rates(pair: int) -> tuple[float, float]:
        found = times(name, SETS[name], pair)
        return 1 / percentile(found[PRESET], share), 1 / percentile(found[rival], share)

    return Contest(PRESET, rival, rates)


@cache
def times(name: str, repeats: int, pair: int) -> dict[str, list[float]]:  # noqa: ARG001 - a key of the cache
    """Return the seconds of each puzzle by configuration, measured in turns in a new process.

    Raises
    ------
    RuntimeError
        A run did not solve its puzzle.
    """
    with ProcessPoolExecutor(1, multiprocessing.get_context("spawn")) as process:
        return process.submit(_times, name, repeats).result()


def _times(name: str, repeats: int) -> dict[str, list[float]]:
    chosen = {word: configuration(word) for word in (PRESET, *TARGETS)}
    problems = [problem_of(KIND, text) for text in texts(name)]
    for problem in problems[:WARM_UPS]:
        _runs(chosen, problem, 0)
    runs = [[_runs(chosen, problem, seed) for problem in problems] for seed in range(repeats)]
    return {word: [median(run[word] for run in of_puzzle) for of_puzzle in zip(*runs, strict=True)] for word in chosen}


def _runs(chosen: dict[str, Configuration], problem: Problem, seed: int) -> dict[str, float]:
    """Seconds of one run by configuration."""
    found = {word: measure(configured, problem, seed, LIMIT_S) for word, configured in chosen.items()}
    for word, run in found.items():
        if run.assignment is None or not problem.is_solution(run.assignment):
            raise RuntimeError(f"{word} did not solve a puzzle: {run.stop}, {run.detail}")
    return {word: run.wall_s for word, run in found.items()}


if __name__ == "__main__":
    for word, spans in times(sys.argv[1], int(sys.argv[2]), 0).items():
        print(f"{percentile(spans, 0.5) * 1e3:8.2f} ms {percentile(spans, 0.99) * 1e3:8.2f} ms  {word}")
