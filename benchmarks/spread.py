"""The spread of a batch's medians over many runs of it, alone and next to a neighbour.

    python -m benchmarks.spread [--only permuted|alone] [--runs 24] [--most 96] [--puzzles 95] [--repeat 30]

The batch contains each puzzle thirty times, in an order shuffled by its seed, and its solves lease cores. Alone, it
runs in turns unchanged, permuted (each repeat under another symmetry), and permuted with a new seed each time. Then it
runs permuted while another batch runs on the host:

1. without leases: each batch may use the other's cores;
2. with leases: host-wide, so that no two solves share a core.

For each configuration the benchmark prints the largest median over the smallest, of all runs and of the undisturbed
ones, and the median of medians over that of the permuted batch alone. If more than half of a batch was disturbed, its
rest does not count. The batches with a target run until `--runs` of them were undisturbed, at most `--most` times.

The targets apply to undisturbed runs: a spread of at most 1.10 of the permuted batch, alone and next to the neighbour
with leases, and there at most 10 % more time than alone. On a host with other tenants, a short batch may be fast or
slow as a whole: a batch of ten repeats takes ten seconds, one of thirty takes half a minute.

`--only permuted` runs only the permuted batch, and `--only alone` runs everything without the neighbour.
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
NEIGHBOUR_REPEATS = "20"  # A batch takes under half a minute, and cores change hands about every second.
SCHEDULER = (sys.executable, "-P", "-c", "from cagematch.scheduler.cli import main; main()")
TARGET = 1.10  # The largest ratio of two medians.
FEWEST = 3  # The fewest undisturbed runs for a verdict.
Medians = dict[str, list[float]]


class Regime:
    """A way to run the batch, and the medians of its runs.

    Parameters
    ----------
    leases
        Whether the batch shares the neighbour's folder of core locks.
    permute
        Whether each repeat has another symmetry.
    reseed
        Whether each run has another seed, for its order and symmetries.
    """

    def __init__(self, name: str, *, leases: bool = True, permute: bool = False, reseed: bool = False) -> None:
        self.name, self.leases, self.reseed, self.permute = name, leases, reseed, permute
        self.all: Medians = defaultdict(list)
        self.undisturbed: Medians = defaultdict(list)

    def options(self, number: int) -> list[str]:
        """Return the additional options of `submit` for the run of a number."""
        return ["--seed", str(number if self.reseed else 0), *(["--permute"] if self.permute else [])]

    def __str__(self) -> str:
        lines = [self.name]
        for text in CONFIGURATIONS:
            undisturbed, all_runs = self.undisturbed[text], self.all[text]
            of_all, of_undisturbed = _spread(all_runs), _spread(undisturbed)
            spread = f"spread {of_all} of {len(all_runs)}, undisturbed {of_undisturbed} of {len(undisturbed)}"
            all_ratio = _over(all_runs, PERMUTED.all[text])
            ratio = _over(undisturbed, PERMUTED.undisturbed[text])
            lines.append(f"  {text:12} {spread}; {all_ratio} × alone, undisturbed {ratio}")
        return "\n".join(lines)


PERMUTED = Regime("alone, permuted", permute=True)
LEASED = Regime("next to a neighbour, permuted, with leases", permute=True)
ALONE = (
    Regime("alone"),
    PERMUTED,
    Regime("alone, permuted, with new seeds", permute=True, reseed=True),
)
NEXT_TO = (Regime("next to a neighbour, permuted, without leases", leases=False, permute=True), LEASED)


def main() -> int:
    """Return 0 when all targets were reached."""
    parser = argparse.ArgumentParser(prog="python -m benchmarks.spread", description=__doc__)
    parser.add_argument("--runs", type=int, default=24, help="runs of the batch in each regime [default: 24]")
    parser.add_argument(
        "--most",
        type=int,
        default=96,
        help="most runs in a regime with a target while fewer than RUNS are undisturbed [default: 96]",
    )
    parser.add_argument("--puzzles", type=int, default=95, help="puzzles of the set hard [default: 95]")
    parser.add_argument("--repeat", type=int, default=30, help="repeats of each puzzle in the batch [default: 30]")
    parser.add_argument("--only", choices=("permuted", "alone"), help="run only some regimes")
    options = parser.parse_args()
    signal.signal(signal.SIGTERM, signal.default_int_handler)  # Ends the neighbour.
    facts = host_facts()
    print(f"{facts['processor']}, {facts['cores']} cores, load at the start: {os.getloadavg()[0]:.2f}", flush=True)
    alone, next_to = (PERMUTED,) if options.only == "permuted" else ALONE, () if options.only else NEXT_TO
    with suppress(KeyboardInterrupt), tempfile.TemporaryDirectory(prefix="spread-") as folder:
        rounds(alone, options, Path(folder))
        if next_to:
            with neighbour(Path(folder)):
                rounds(next_to, options, Path(folder))
    print(f"\nmedians of {options.repeat} × {options.puzzles} puzzles of hard\n")
    print("\n".join(map(str, (*alone, *next_to))))
    return 0 if all(reached(text, (PERMUTED, LEASED) if next_to else (PERMUTED,)) for text in CONFIGURATIONS) else 1


def reached(text: str, aims: tuple[Regime, ...]) -> bool:
    """Return whether a configuration reached the targets, with enough undisturbed runs."""
    found = [regime.undisturbed[text] for regime in aims]
    if any(len(medians) < FEWEST or max(medians) > TARGET * min(medians) for medians in found):
        return False
    return median(found[-1]) <= TARGET * median(found[0])


def rounds(regimes: tuple[Regime, ...], options: argparse.Namespace, folder: Path) -> None:
    """Run the batch in each regime in turns, and more often in those with a target while runs were disturbed."""
    aims = [regime for regime in regimes if regime in (PERMUTED, LEASED)]
    number = undisturbed = 0
    while number < options.runs or (undisturbed < options.runs and number < options.most):
        for regime in regimes if number < options.runs else aims:
            run(regime, number, options, folder)
        number += 1
        undisturbed = min(len(aim.undisturbed[text]) for aim in aims for text in CONFIGURATIONS)
        print(f"{number} of {options.runs} to {options.most}, {undisturbed} undisturbed", file=sys.stderr, flush=True)


def run(regime: Regime, number: int, options: argparse.Namespace, folder: Path) -> None:
    """Run the batch once, and add its medians to the regime.

    All runs share one database, which then has the best speed of the host as the bound for disturbed runs.
    """
    locks = folder / ("locks" if regime.leases else "separate locks")
    solvers = [word for text in CONFIGURATIONS for word in ("-s", text)]
    sizes = ["--limit", str(options.puzzles), "--repeat", str(options.repeat), *regime.options(number)]
    name = f"{regime.name}, {number}"
    scheduler(folder, locks, "submit", "hard", "--name", name, *sizes, *solvers)
    for medians, exclude in ((regime.all, ()), (regime.undisturbed, ("--exclude-disturbed",))):
        rows = scheduler(folder, locks, "report", name, "--format", "json", *exclude)
        for row in json.loads(rows) if rows else ():
            if 2 * row["runs"] >= options.puzzles * options.repeat:
                medians[row["configuration"]].append(row["median_ms"])


def scheduler(folder: Path, locks: Path, *arguments: str) -> str:
    """Run the command in a folder, and return its standard output."""
    environment = os.environ | {"CAGEMATCH_LOCKS": str(locks)}
    done = subprocess.run(
        [*SCHEDULER, *arguments], cwd=folder, env=environment, stdout=subprocess.PIPE, text=True, check=False
    )
    return done.stdout


@contextmanager
def neighbour(folder: Path) -> Iterator[None]:
    """Run other batches during the block, one after another; short ones, so that cores change hands often."""
    own_folder, over = folder / "neighbour", threading.Event()
    own_folder.mkdir()
    solvers = [word for text in NEIGHBOUR for word in ("-s", text)]
    environment = os.environ | {"CAGEMATCH_LOCKS": str(folder / "locks")}
    quiet = {"stdout": subprocess.DEVNULL, "stderr": subprocess.DEVNULL}

    def work() -> None:
        while not over.is_set():
            arguments = [*SCHEDULER, "submit", "hard", "--repeat", NEIGHBOUR_REPEATS, *solvers]
            with subprocess.Popen(arguments, cwd=own_folder, env=environment, **quiet) as process:
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
