"""Builds: a backend's own compared with the fastest interface that its library documents for the same formulation.

``python -m benchmarks.builds CONFIG`` measures every documented interface in `benchmarks.rivals`, in turns for each
puzzle, and prints the medians. A figure does so once to find the fastest interface, then measures that one.
"""

from __future__ import annotations

import multiprocessing
import sys
import time
from collections.abc import Iterator
from concurrent.futures import ProcessPoolExecutor
from functools import partial
from statistics import median

from benchmarks.bare import KIND, WARM_UPS, texts
from benchmarks.harness.pairs import Contest, Figure
from benchmarks.rivals import RIVALS, Build, interfaces
from cagematch.problems.problem import Problem
from cagematch.workers.backends import load, version
from cagematch.workers.backends.contract import Order
from cagematch.workers.configurations import configuration
from cagematch.workers.sandbox.solving import problem_of

SET, PUZZLES = "hard", 40
ROUNDS = 5  # Passes over the puzzles per pair.
SEED = 1
OURS = "ours"
TARGET = 1.5  # The largest ratio of our build time to that of the fastest interface.


def figures() -> Iterator[Figure]:
    """Yield a figure for every configuration with a rival whose library is installed."""
    for word in RIVALS:
        if version(configuration(word).backend):
            name = f"builds, {word}: ours / fastest documented"
            yield Figure(name, "builds/s", TARGET, partial(_contest, word), at_most=True)
        else:
            print(f"{word} is not installed; skipping its figure.", file=sys.stderr)


def medians(word: str, wanted: tuple[str, ...] = (), rounds: int = ROUNDS) -> dict[str, float]:
    """Return the median build time in seconds, by interface; the key `OURS` is the backend's own.

    The measurement runs in a new process, as solver libraries may conflict within one.

    Parameters
    ----------
    wanted
        The interfaces to measure, by default all.
    rounds
        Passes over the puzzles.
    """
    with ProcessPoolExecutor(1, multiprocessing.get_context("spawn")) as process:
        return process.submit(_medians, word, wanted, rounds).result()


def _contest(word: str) -> Contest:
    found = medians(word, rounds=1)
    listing = ", ".join(f"{name} {seconds * 1e3:.3f} ms" for name, seconds in found.items())
    print(f"  {word}: {listing}", file=sys.stderr, flush=True)
    fastest = min(found.keys() - {OURS}, key=lambda name: found[name])
    return Contest(
        f"cagematch.workers.backends, {word}", f"benchmarks.rivals, {fastest}", lambda _: _rates(word, fastest)
    )


def _rates(word: str, fastest: str) -> tuple[float, float]:
    found = medians(word, (fastest,))
    return 1 / found[OURS], 1 / found[fastest]


def _medians(word: str, wanted: tuple[str, ...], rounds: int) -> dict[str, float]:
    chosen, documented = configuration(word), interfaces(word)
    builders = {OURS: load(chosen.backend).build} | {name: documented[name] for name in wanted or documented}
    order = Order(chosen.settings, SEED)
    problems = [problem_of(KIND, text) for text in texts(SET)[:PUZZLES]]
    names = list(builders)
    spans: dict[str, list[float]] = {name: [] for name in names}
    for at, problem in enumerate([*problems[:WARM_UPS], *problems * rounds]):
        for name in names[at % len(names) :] + names[: at % len(names)]:  # Rotates the order.
            spans[name].append(_span(builders[name], problem, order))
    return {name: median(found[WARM_UPS:]) for name, found in spans.items()}


def _span(build: Build, problem: Problem, order: Order) -> float:
    fresh = Problem(problem.rules, problem.givens)  # Without the cached values of another build.
    started = time.perf_counter()
    model = build(fresh, order)
    span = time.perf_counter() - started
    del model  # Not part of the build time.
    return span


if __name__ == "__main__":
    for name, seconds in sorted(medians(sys.argv[1]).items(), key=lambda pair: pair[1]):
        print(f"{seconds * 1e3:10.3f} ms  {name}")
