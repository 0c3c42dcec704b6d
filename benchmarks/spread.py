"""How far apart the medians of one batch are when it is run again and again, alone and beside a neighbour.

    python -m benchmarks.spread [--only permuted|alone] [--runs 24] [--most 96] [--puzzles 95] [--repeat 30]

The batch has each puzzle thirty times, in an order shuffled by its seed, and its solves have leases of cores. In turns
it is run as it is, permuted (each repeat under another symmetry), and in a new order and permuted anew, so that luck
has its part. Then, permuted, while another batch is at work on the host all the time:

1. without leases: the two do not know of each other's cores;
2. with leases: host-wide, so that no two solves share a core.

Printed is, for each configuration, the largest median over the smallest, of all its runs and of those that the report
does not call disturbed; and the median of medians over that of the permuted runs alone. Where more than half of a batch
was disturbed, the rest tells nothing: where there is a target, the batch is run on until as many were undisturbed as
were asked for, or it has been run as often as it may (`--most`).

The targets, for what is undisturbed: a spread of at most 1.10 of the permuted batch, alone and beside the neighbour
with leases, and there at most 10 % more than alone. On a host that others use a short batch may have its luck as a
whole: a batch of ten repeats takes ten seconds, one of thirty half a minute.

`--only permuted` runs nothing but the permuted batch, `--only alone` nothing beside a neighbour.
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

from cagematch.workers.machine.host import host_facts

CONFIGURATIONS = ("cp-sat-fast", "cp-min-size", "scip")
NEIGHBOUR = ("scip", "cp-sat-fast")
NEIGHBOUR_REPEATS = "20"  # it is over and begins anew a few times a minute, and cores change hands every second or so
SCHEDULER = (sys.executable, "-P", "-c", "from cagematch.scheduler.cli import main; main()")
TARGET = 1.10
FEWEST = 3  # undisturbed runs, or nothing can be said
Medians = dict[str, list[float]]


class Regime:
    """A way to run the batch, and the medians that came of it. ``leases``: in the neighbour's folder of locks."""

    def __init__(self, name: str, *, leases: bool = True, permute: bool = False, anew: bool = False) -> None:
        self.name, self.leases, self.anew, self.permute = name, leases, anew, permute
        self.all: Medians = defaultdict(list)
        self.undisturbed: Medians = defaultdict(list)

    def options(self, number: int) -> list[str]:
        """What `submit` is told besides, in the run of that number."""
        return ["--seed", str(number if self.anew else 0), *(["--permute"] if self.permute else [])]

    def __str__(self) -> str:
        lines = [self.name]
        for text in CONFIGURATIONS:
            calm, every = self.undisturbed[text], self.all[text]
            ratios = (
                f"{_over(every, PERMUTED.all[text])} × alone, undisturbed {_over(calm, PERMUTED.undisturbed[text])}"
            )
            spread = f"spread {_spread(every)} of {len(every)}, undisturbed {_spread(calm)} of {len(calm)}"
            lines.append(f"  {text:12} {spread}; {ratios}")
        return "\n".join(lines)


PERMUTED = Regime("alone, permuted", permute=True)
LEASED = Regime("beside a neighbour, permuted, with leases", permute=True)
ALONE = (
    Regime("alone"),
    PERMUTED,
    Regime("alone, in a new order and permuted anew", permute=True, anew=True),
)
BESIDE = (Regime("beside a neighbour, permuted, without leases", leases=False, permute=True), LEASED)


def main() -> int:
    """Return 0 when the target was reached."""
    parser = argparse.ArgumentParser(prog="python -m benchmarks.spread", description=__doc__)
    parser.add_argument("--runs", type=int, default=24, help="of the batch under each regime")
    parser.add_argument(
        "--most", type=int, default=96, help="where fewer than RUNS were undisturbed, under those that have a target"
    )
    parser.add_argument("--puzzles", type=int, default=95, help="of the set hard")
    parser.add_argument("--repeat", type=int, default=30, help="of each puzzle in the batch")
    parser.add_argument("--only", choices=("permuted", "alone"), help="fewer regimes")
    asked = parser.parse_args()
    signal.signal(signal.SIGTERM, signal.default_int_handler)  # so that the neighbour is ended, too
    facts = host_facts()
    print(f"{facts['processor']}, {facts['cores']} cores, load when this began: {os.getloadavg()[0]:.2f}", flush=True)
    alone, beside = (PERMUTED,) if asked.only == "permuted" else ALONE, () if asked.only else BESIDE
    with suppress(KeyboardInterrupt), tempfile.TemporaryDirectory(prefix="spread-") as folder:  # what there is, is told
        rounds(alone, asked, Path(folder))
        if beside:
            with neighbour(Path(folder)):
                rounds(beside, asked, Path(folder))
    print(f"\nmedians of {asked.repeat} × {asked.puzzles} puzzles of hard\n")
    print("\n".join(map(str, (*alone, *beside))))
    return 0 if all(reached(text, (PERMUTED, LEASED) if beside else (PERMUTED,)) for text in CONFIGURATIONS) else 1


def reached(text: str, aims: tuple[Regime, ...]) -> bool:
    """Whether a configuration kept to the targets, in runs of which enough were undisturbed."""
    found = [regime.undisturbed[text] for regime in aims]
    if any(len(medians) < FEWEST or max(medians) > TARGET * min(medians) for medians in found):
        return False
    return median(found[-1]) <= TARGET * median(found[0])


def rounds(regimes: tuple[Regime, ...], asked: argparse.Namespace, folder: Path) -> None:
    """Run the batch so often under each regime, in turns, and on where what a target is for was disturbed."""
    aims = [regime for regime in regimes if regime in (PERMUTED, LEASED)]
    number = calm = 0
    while number < asked.runs or (calm < asked.runs and number < asked.most):
        for regime in regimes if number < asked.runs else aims:
            run(regime, number, asked, folder)
        number += 1
        calm = min(len(aim.undisturbed[text]) for aim in aims for text in CONFIGURATIONS)
        print(f"{number} of {asked.runs} to {asked.most}, {calm} undisturbed", file=sys.stderr, flush=True)


def run(regime: Regime, number: int, asked: argparse.Namespace, folder: Path) -> None:
    """Run the batch once, in the database of all, which knows its host at its best, and note the batch's medians."""
    locks = folder / ("locks" if regime.leases else "locks of its own")
    solvers = [word for text in CONFIGURATIONS for word in ("-s", text)]
    how = ["--limit", str(asked.puzzles), "--repeat", str(asked.repeat), *regime.options(number)]
    name = f"{regime.name}, {number}"
    scheduler(folder, locks, "submit", "hard", "--name", name, *how, *solvers)
    for medians, options in ((regime.all, ()), (regime.undisturbed, ("--exclude-disturbed",))):
        told = scheduler(folder, locks, "report", name, "--format", "json", *options)
        for row in json.loads(told) if told else ():
            if 2 * row["runs"] >= asked.puzzles * asked.repeat:
                medians[row["configuration"]].append(row["median_ms"])


def scheduler(folder: Path, locks: Path, *words: str) -> str:
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
            words = [*SCHEDULER, "submit", "hard", "--repeat", NEIGHBOUR_REPEATS, *solvers]
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
