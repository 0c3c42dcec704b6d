"""How far apart the medians of one batch are when it is run again and again beside a neighbour.

    python -m benchmarks.spread [--runs 24] [--puzzles 95]

The same batch is run alone first, then under each of four regimes, in turns, while another batch is at work on the
host all the time:

1. without leases: the two do not know of each other's cores;
2. with leases: host-wide, so that no two solves share a core;
3. with leases and a new order: each run shuffles the puzzles anew;
4. with leases, a new order and a permutation: and solves each under another symmetry.

Printed is, for each configuration, the largest median over the smallest, over all runs and over those that the report
does not call disturbed; and the median of medians over that of the runs alone. The targets, for what is undisturbed: a
spread of 1.10 under the fourth regime, and under the second at most 10 % more than alone.
"""

from __future__ import annotations

import argparse
import json
import os
import signal
import subprocess
import sys
import tempfile
import threading
from collections import defaultdict
from collections.abc import Iterator
from contextlib import contextmanager, suppress
from pathlib import Path
from statistics import median

from workers.host import host_facts

CONFIGURATIONS = ("cp-sat-fast", "cp-min-size", "scip")
NEIGHBOUR = ("scip", "cp-sat-fast")
SCHEDULER = (sys.executable, "-P", "-c", "from scheduler.cli import main; main()")
TARGET = 1.10
FEWEST = 3  # undisturbed runs, or nothing can be said
Medians = dict[str, list[float]]


class Regime:
    """A way to run the batch, and the medians that came of it. ``leases``: in the neighbour's folder of locks."""

    def __init__(self, name: str, *, leases: bool, order: bool = False, permute: bool = False) -> None:
        self.name, self.leases, self.order, self.permute = name, leases, order, permute
        self.all: Medians = defaultdict(list)
        self.undisturbed: Medians = defaultdict(list)

    def options(self, number: int) -> list[str]:
        """What `submit` is told besides, in the run of that number."""
        return ["--seed", str(number if self.order else 0), *(["--permute"] if self.permute else [])]

    def __str__(self) -> str:
        lines = [self.name]
        for text in CONFIGURATIONS:
            calm, every = self.undisturbed[text], self.all[text]
            ratios = f"{_over(every, ALONE.all[text])} × alone, undisturbed {_over(calm, ALONE.undisturbed[text])}"
            spread = f"spread {_spread(every)} of {len(every)}, undisturbed {_spread(calm)} of {len(calm)}"
            lines.append(f"  {text:12} {spread}; {ratios}")
        return "\n".join(lines)


ALONE = Regime("alone", leases=True)
REGIMES = (
    Regime("without leases", leases=False),
    Regime("with leases", leases=True),
    Regime("with leases and a new order", leases=True, order=True),
    Regime("with leases, a new order and a permutation", leases=True, order=True, permute=True),
)


def main() -> int:
    """Return 0 when the target was reached."""
    parser = argparse.ArgumentParser(prog="python -m benchmarks.spread", description=__doc__)
    parser.add_argument("--runs", type=int, default=24, help="of the batch under each regime")
    parser.add_argument("--puzzles", type=int, default=95, help="of the set hard")
    asked = parser.parse_args()
    signal.signal(signal.SIGTERM, signal.default_int_handler)  # so that the neighbour is ended, too
    facts = host_facts()
    print(f"{facts['processor']}, {facts['cores']} cores, load when this began: {os.getloadavg()[0]:.2f}", flush=True)
    with suppress(KeyboardInterrupt), tempfile.TemporaryDirectory(prefix="spread-") as folder:  # what there is, is told
        for number in range(asked.runs):
            run(ALONE, number, asked.puzzles, Path(folder))
        with neighbour(Path(folder)):
            for number in range(asked.runs):
                for regime in REGIMES:
                    run(regime, number, asked.puzzles, Path(folder))
                print(f"{number + 1} of {asked.runs}", file=sys.stderr, flush=True)
    print(f"\nmedians of {asked.puzzles} puzzles of hard, {asked.runs} runs each\n")
    print("\n".join(map(str, (ALONE, *REGIMES))))
    return 0 if all(map(reached, CONFIGURATIONS)) else 1


def reached(text: str) -> bool:
    """Whether a configuration kept to both targets, in runs of which enough were undisturbed."""
    alone, leased, permuted = (each.undisturbed[text] for each in (ALONE, REGIMES[1], REGIMES[-1]))
    if min(len(alone), len(leased), len(permuted)) < FEWEST:
        return False
    return median(leased) <= TARGET * median(alone) and max(permuted) <= TARGET * min(permuted)


def run(regime: Regime, number: int, puzzles: int, folder: Path) -> None:
    """Run the batch once, in a database of its own, and note its medians."""
    with tempfile.TemporaryDirectory(dir=folder) as here:
        locks = folder / "locks" if regime.leases else Path(here) / "locks"
        solvers = [word for text in CONFIGURATIONS for word in ("-s", text)]
        scheduler(here, locks, "submit", "hard", "--limit", str(puzzles), *solvers, *regime.options(number))
        for medians, options in ((regime.all, ()), (regime.undisturbed, ("--exclude-disturbed",))):
            told = scheduler(here, locks, "report", "--format", "json", *options)
            for row in json.loads(told) if told else ():
                # A configuration of which a part was disturbed is not the whole batch.
                if row["runs"] == puzzles:
                    medians[row["configuration"]].append(row["median_ms"])


def scheduler(folder: str, locks: Path, *words: str) -> str:
    environment = os.environ | {"CAGEMATCH_LOCKS": str(locks)}
    done = subprocess.run(
        [*SCHEDULER, *words], cwd=folder, env=environment, stdout=subprocess.PIPE, text=True, check=False
    )
    return done.stdout


@contextmanager
def neighbour(folder: Path) -> Iterator[None]:
    """Other batches, one after the other, while the block takes; short ones, so that cores change hands often."""
    here, over = folder / "neighbour", threading.Event()
    here.mkdir()
    solvers = [word for text in NEIGHBOUR for word in ("-s", text)]
    environment = os.environ | {"CAGEMATCH_LOCKS": str(folder / "locks")}
    quiet = {"stdout": subprocess.DEVNULL, "stderr": subprocess.DEVNULL}

    def work() -> None:
        while not over.is_set():
            words = [*SCHEDULER, "submit", "easy", "--repeat", "20", *solvers]
            with subprocess.Popen(words, cwd=here, env=environment, **quiet) as process:
                while process.poll() is None and not over.wait(0.2):
                    pass
                process.terminate()

    thread = threading.Thread(target=work)
    thread.start()
    try:
        yield
    finally:
        over.set()
        thread.join()


def _over(medians: list[float], others: list[float]) -> str:
    return f"{median(medians) / median(others):.2f}" if medians and others else "–"


def _spread(medians: list[float]) -> str:
    return f"{max(medians) / min(medians):.2f}" if medians else "–"


if __name__ == "__main__":
    sys.exit(main())
