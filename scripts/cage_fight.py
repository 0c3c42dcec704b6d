"""Run hostile backends in the keeper next to real solves, many times in each of three pools, and print the outcomes.

    python scripts/cage_fight.py --runs 200

One keeper alternates between a hostile run and a real solve of the pool's backend, while a neighbour solves on another
core. Each hostile run must be recorded correctly, end in time and leave no process and no memory. The exit code is 1
when one does not, or when a real solve fails.
"""

# ruff: noqa: T201

from __future__ import annotations

import argparse
import os
import statistics
import sys
import tempfile
import threading
import time
from collections import Counter
from dataclasses import dataclass, field
from pathlib import Path

ROOT = Path(__file__).resolve().parent.parent
sys.path[:0] = [str(ROOT / "src"), str(ROOT / "tests")]

from hostile.keepers import HARD, collect, job, keeper_client, marked, named, puzzle, submit  # noqa: E402

from cagematch.workers.keeper.client import KeeperClient  # noqa: E402
from cagematch.workers.machine.processes import usage  # noqa: E402
from cagematch.workers.messages.protocol import BatchLimits  # noqa: E402

POOLS = {"cp-sat": "cp-sat:workers=1", "legacy-cp": "legacy-cp", "mip": "scip"}
# By what a hostile backend does: the stop that must be recorded.
DEEDS = {
    "spin-in-c": "timeout",
    "spin": "timeout",
    "sleep": "timeout",
    "ignore-signals": "timeout",
    "bomb": "timeout",
    "daemon-and-hang": "timeout",
    "eat": "memout",
    "flood": "finished",
    "flood-errors": "timeout",
    "segfault": "crashed",
    "words": "error",
}
HOSTILE = "hostile"
LIMITS = BatchLimits(0.2, 300, 0.1)  # For deeds that must time out.
LONG_LIMITS = BatchLimits(10.0, 300, 0.1)  # For deeds that must end otherwise.
REAL_LIMITS = BatchLimits(30.0, 2000)
MOST_GROWTH_MIB = 64  # The remaining processes may use this much more memory than before a hostile run.


@dataclass
class Outcomes:
    """The outcomes of one deed in one pool. ``past``: seconds past limit and grace period, by run."""

    stops: Counter[str] = field(default_factory=Counter)
    past: list[float] = field(default_factory=list)
    left: int = 0
    grown_mib: float = 0.0
    failed: int = 0

    @property
    def p99(self) -> float:
        """The 99th percentile of ``past``."""
        return sorted(self.past)[-(-99 * len(self.past) // 100) - 1]


def solves(keeper: KeeperClient, configuration: str) -> bool:
    """Return whether a real solve finds a correct solution."""
    jobs = [job(configuration, HARD)]
    submit(keeper, jobs, REAL_LIMITS)
    (answer,) = collect(keeper, jobs)
    return answer.stop == "finished" and puzzle(HARD).is_solution(answer.assignment)


class Neighbour(threading.Thread):
    """Solves on another core until ``over`` is set."""

    def __init__(self, configuration: str) -> None:
        super().__init__(daemon=True)
        self.solved = self.failed = 0
        self.over = threading.Event()
        self._configuration = configuration

    def run(self) -> None:
        """Solve the same puzzle repeatedly, and count."""
        keeper = KeeperClient()
        keeper.lease(1)
        while not self.over.is_set():
            if solves(keeper, self._configuration):
                self.solved += 1
            else:
                self.failed += 1
        keeper.close()


def one(keeper: KeeperClient, deed: str, real: str, outcomes: Outcomes) -> None:
    """Run a deed in a warmed-up sandbox, then a real solve, and add the outcomes."""
    warm = [job(HOSTILE)]
    submit(keeper, warm, REAL_LIMITS)
    collect(keeper, warm)
    before = resident_mib()
    jobs = [job(f"{HOSTILE}:do={deed}")]
    started = time.monotonic()
    limits = LIMITS if DEEDS[deed] == "timeout" else LONG_LIMITS
    submit(keeper, jobs, limits)
    (answer,) = collect(keeper, jobs)
    outcomes.past.append(time.monotonic() - started - limits.time_s - limits.grace_s)
    outcomes.left += len(marked()) - len(named("cagematch.workers.sandbox")) - len(named("cagematch.workers.keeper"))
    outcomes.grown_mib = max(outcomes.grown_mib, resident_mib() - before)
    outcomes.stops[answer.stop] += 1
    outcomes.failed += not solves(keeper, real)


def resident_mib() -> float:
    """Return the resident memory of all keepers and sandboxes."""
    return sum(used.rss_kib for pid in marked() if (used := usage(pid))) / 1024


def fight(pool: str, runs: int) -> tuple[dict[str, Outcomes], Neighbour]:
    """Run every deed ``runs`` times in a pool."""
    outcomes = {deed: Outcomes() for deed in DEEDS}
    with tempfile.TemporaryDirectory() as folder, keeper_client(Path(folder)) as keeper:
        neighbour = Neighbour(POOLS[pool])
        neighbour.start()
        keeper.lease(1)
        solves(keeper, POOLS[pool])
        for _ in range(runs):
            for deed in DEEDS:
                one(keeper, deed, POOLS[pool], outcomes[deed])
        neighbour.over.set()
        neighbour.join()
    return outcomes, neighbour


def verdict(deed: str, outcomes: Outcomes, within_s: float, never_s: float) -> str:
    """Return the failures of a row, ``""`` when there are none."""
    wrong = {
        "wrong stop": sum(outcomes.stops.values()) != outcomes.stops[DEEDS[deed]],
        "late": outcomes.p99 > within_s or max(outcomes.past) > never_s,
        "left running": outcomes.left > 0,
        "memory kept": outcomes.grown_mib > MOST_GROWTH_MIB,
        "next solve failed": outcomes.failed > 0,
    }
    return ", ".join(word for word, holds in wrong.items() if holds)


def row(pool: str, deed: str, outcomes: Outcomes) -> str:
    """Format a row of the table without its verdict."""
    times = (statistics.median(outcomes.past), outcomes.p99, max(outcomes.past))
    stops = ", ".join(outcomes.stops)
    return (
        f"{pool:10}{deed:17}{len(outcomes.past):5}  {stops:14}"
        + "".join(f"{1000 * s:7.0f}" for s in times)
        + (f"{outcomes.left:6} {outcomes.grown_mib:5.0f} ")
    )


def main() -> int:
    """Print the table, and return the exit code."""
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--runs", type=int, default=200, help="runs of each deed in each pool [default: 200]")
    parser.add_argument(
        "--pool", action="append", choices=POOLS, help="a pool to run; repeat it for several [default: all]"
    )
    parser.add_argument(
        "--within",
        type=float,
        default=0.2,
        help="most seconds past limit and grace period for 99 %% of the runs [default: 0.2]",
    )
    parser.add_argument(
        "--never", type=float, default=1.0, help="most seconds past limit and grace period for any run [default: 1]"
    )
    options = parser.parse_args()
    bad = 0
    print(
        f"limits: {LIMITS.time_s} s ({LONG_LIMITS.time_s} s without an expected timeout), {LIMITS.memory_mib} MiB; "
        "times in ms past limit and grace period:"
    )
    print(f"{'pool':10}{'deed':17}{'runs':>5}  {'recorded':14}", end="")
    print(f"{'p50':>7}{'p99':>7}{'max':>7}{'left':>6} {'MiB':>5}  verdict")
    for pool in options.pool or POOLS:
        rows, neighbour = fight(pool, options.runs)
        for deed, outcomes in rows.items():
            wrong = verdict(deed, outcomes, options.within, options.never)
            bad += bool(wrong)
            print(row(pool, deed, outcomes), wrong or "ok")
        print(f"{pool:10}neighbour: {neighbour.solved} solves, {neighbour.failed} failed", flush=True)
        bad += neighbour.failed
    return 1 if bad else 0


if __name__ == "__main__":
    os.chdir(ROOT)
    sys.exit(main())
