"""Puts hostile backends into the keeper beside real solves of three pools, again and again, and prints what came of it.

    python scripts/cage_fight.py --runs 200

One keeper takes turns between a hostile run and a real solve of the pool's backend; a neighbour on another core solves
all the while. Each hostile run has to be told rightly, to be over in time and to leave nothing: no process, no memory.
The exit code is 1 where one did not, or where a real solve came to harm.
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
LIMITS = BatchLimits(0.2, 300, 0.1)
ENOUGH = BatchLimits(10.0, 300, 0.1)  # for deeds that are to come to their own end
PATIENT = BatchLimits(30.0, 2000)
BACK_MIB = 64  # what the processes that stay may have more than before


@dataclass
class Told:
    """What came of the runs of one deed in one pool. ``past``: seconds past limit and grace."""

    stops: Counter[str] = field(default_factory=Counter)
    past: list[float] = field(default_factory=list)
    left: int = 0
    grown_mib: float = 0.0
    harmed: int = 0

    @property
    def p99(self) -> float:
        """What 99 % of the runs do not exceed."""
        return sorted(self.past)[-(-99 * len(self.past) // 100) - 1]


def solves(keeper: KeeperClient, configuration: str) -> bool:
    """Whether a real solve is answered rightly."""
    jobs = [job(configuration, HARD)]
    submit(keeper, jobs, PATIENT)
    (answer,) = collect(keeper, jobs)
    return answer.stop == "finished" and puzzle(HARD).is_solution(answer.assignment)


class Neighbour(threading.Thread):
    """Solves on a core of its own until it is told to stop."""

    def __init__(self, configuration: str) -> None:
        super().__init__(daemon=True)
        self.solved = self.harmed = 0
        self.over = threading.Event()
        self._configuration = configuration

    def run(self) -> None:
        """Solve."""
        keeper = KeeperClient()
        keeper.lease(1)
        while not self.over.is_set():
            if solves(keeper, self._configuration):
                self.solved += 1
            else:
                self.harmed += 1
        keeper.close()


def one(keeper: KeeperClient, deed: str, real: str, told: Told) -> None:
    """A hostile run in a sandbox that is warm, and a real solve after it."""
    warm = [job(HOSTILE)]
    submit(keeper, warm, PATIENT)
    collect(keeper, warm)
    before = resident_mib()
    jobs = [job(f"{HOSTILE}:do={deed}")]
    started = time.monotonic()
    limits = LIMITS if DEEDS[deed] == "timeout" else ENOUGH
    submit(keeper, jobs, limits)
    (answer,) = collect(keeper, jobs)
    told.past.append(time.monotonic() - started - limits.time_s - limits.grace_s)
    told.left += len(marked()) - len(named("cagematch.workers.sandbox")) - len(named("cagematch.workers.keeper"))
    told.grown_mib = max(told.grown_mib, resident_mib() - before)
    told.stops[answer.stop] += 1
    told.harmed += not solves(keeper, real)


def resident_mib() -> float:
    """What keepers and sandboxes have together."""
    return sum(used.rss_kib for pid in marked() if (used := usage(pid))) / 1024


def fight(pool: str, runs: int) -> tuple[dict[str, Told], Neighbour]:
    """Every deed so many times in a pool."""
    told = {deed: Told() for deed in DEEDS}
    with tempfile.TemporaryDirectory() as folder, keeper_client(Path(folder)) as keeper:
        neighbour = Neighbour(POOLS[pool])
        neighbour.start()
        keeper.lease(1)
        solves(keeper, POOLS[pool])
        for _ in range(runs):
            for deed in DEEDS:
                one(keeper, deed, POOLS[pool], told[deed])
        neighbour.over.set()
        neighbour.join()
    return told, neighbour


def verdict(deed: str, told: Told, within_s: float, never_s: float) -> str:
    """What is wrong with a row, nothing where all is well."""
    wrong = {
        "told wrongly": sum(told.stops.values()) != told.stops[DEEDS[deed]],
        "late": told.p99 > within_s or max(told.past) > never_s,
        "left running": told.left > 0,
        "memory kept": told.grown_mib > BACK_MIB,
        "next solve harmed": told.harmed > 0,
    }
    return ", ".join(word for word, holds in wrong.items() if holds)


def row(pool: str, deed: str, told: Told) -> str:
    """A row of the table, its verdict apart."""
    times = (statistics.median(told.past), told.p99, max(told.past))
    stops = ", ".join(told.stops)
    return (
        f"{pool:10}{deed:17}{len(told.past):5}  {stops:14}"
        + "".join(f"{1000 * s:7.0f}" for s in times)
        + (f"{told.left:6} {told.grown_mib:5.0f} ")
    )


def main() -> int:
    """Print the table."""
    options = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    options.add_argument("--runs", type=int, default=200, help="of each deed in each pool")
    options.add_argument("--pool", action="append", choices=POOLS, help="one pool only; may be repeated")
    options.add_argument("--within", type=float, default=0.2, help="seconds past limit and grace: 99 %% of the runs")
    options.add_argument("--never", type=float, default=1.0, help="seconds past limit and grace: no run")
    asked = options.parse_args()
    bad = 0
    print(f"{LIMITS.time_s} s ({ENOUGH.time_s} s where none is due), {LIMITS.memory_mib} MiB; ms past limit and grace:")
    print(f"{'pool':10}{'deed':17}{'runs':>5}  {'told as':14}", end="")
    print(f"{'p50':>7}{'p99':>7}{'max':>7}{'left':>6} {'MiB':>5}  verdict")
    for pool in asked.pool or POOLS:
        rows, neighbour = fight(pool, asked.runs)
        for deed, told in rows.items():
            wrong = verdict(deed, told, asked.within, asked.never)
            bad += bool(wrong)
            print(row(pool, deed, told), wrong or "ok")
        print(f"{pool:10}neighbour: {neighbour.solved} solves, {neighbour.harmed} of them harmed", flush=True)
        bad += neighbour.harmed
    return 1 if bad else 0


if __name__ == "__main__":
    os.chdir(ROOT)
    sys.exit(main())
