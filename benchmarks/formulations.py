"""Formulations: every backend with each of its encodings of cages, on the same puzzles in one batch.

``python -m benchmarks.formulations PUZZLES SECONDS`` prints the table of docs/formulations.md. The puzzles are the
first kakuros, and the first killers of the kind that newspapers print. The columns are the number solved within the
limit, the CPU seconds of all runs, and the ratio of the CPU seconds with sums to those with sets. A stopped run counts
with the CPU seconds it used: the ratio is a bound when runs of one encoding were stopped, and missing when runs of both
were.
"""

from __future__ import annotations

import sys
from collections import defaultdict
from collections.abc import Iterator
from dataclasses import dataclass
from pathlib import Path
from tempfile import TemporaryDirectory

from sqlalchemy import create_engine, select

from benchmarks.pipeline import scheduler
from cagematch.models import Run, StoredConfiguration, StoredPuzzle
from cagematch.problems.outcome import Answer, Stop
from cagematch.scheduler.batches.puzzle_sets import shipped_sets
from cagematch.workers.backends import BACKENDS, load, version
from cagematch.workers.configurations import configuration, configurations

KINDS = ("kakuro", "killer")
PRINTED = '{"id":"techatonic'  # Starts the lines of newspaper killers; MIP solvers time out on the others.
ONE_CORE = {"cp-sat": "workers=1,"}  # The parameters that make a backend use one core.


@dataclass(slots=True)
class Spent:
    """The totals of a configuration on a set."""

    runs: int = 0
    solved: int = 0
    stopped: bool = False
    cpu_s: float = 0.0

    def add(self, answer: Answer, stop: Stop, cpu_s: float | None) -> None:
        """Add one run."""
        self.runs += 1
        self.solved += answer is Answer.SOLUTION and stop is Stop.FINISHED
        self.stopped |= stop is not Stop.FINISHED
        self.cpu_s += cpu_s or 0.0

    def __str__(self) -> str:
        return f"{self.solved} of {self.runs}, {self.cpu_s:.2g} s"


Figures = dict[tuple[str, str], Spent]  # By configuration and kind.


def words() -> Iterator[str]:
    """Yield each installed backend with a sweep of its encodings."""
    for name in BACKENDS:
        if version(name) and "cages" in load(name).PARAMETERS:
            encodings = "encoding=*," if "encoding" in load(name).PARAMETERS else ""
            yield f"{name}:{ONE_CORE.get(name, '')}{encodings}cages=*"


def measured(sweeps: list[str], puzzles: int, seconds: int) -> Figures:
    """Submit one batch, and return the totals of its runs."""
    solvers = [argument for word in sweeps for argument in ("-s", word)]
    found: Figures = defaultdict(Spent)
    with TemporaryDirectory() as folder:
        printed = [line for line in shipped_sets()["killer"].read_text().splitlines() if line.startswith(PRINTED)]
        Path(folder, "printed.txt").write_text("\n".join(["# kind: killer", *printed]))
        scheduler(
            folder, {}, "submit", "kakuro", "printed.txt", *solvers, "--limit", str(puzzles), "--timeout", f"{seconds}s"
        )
        engine = create_engine(f"sqlite:///{folder}/scheduler.db")
        with engine.connect() as connection:
            query = select(StoredConfiguration.text, StoredPuzzle.kind, Run.answer, Run.stop, Run.cpu_s)
            for text, kind, answer, stop, cpu_s in connection.execute(
                query.join_from(Run, StoredConfiguration).join(StoredPuzzle)
            ):
                found[text, kind].add(answer, stop, cpu_s)
        engine.dispose()
    return found


def lines(sweeps: list[str], found: Figures) -> Iterator[str]:
    """Yield the table, with a row for each backend and encoding."""
    yield "| configuration | " + " | ".join(f"{kind}, `sum` | `sets` | `sum` / `sets`" for kind in KINDS) + " |"
    yield "|---" * (1 + 3 * len(KINDS)) + "|"
    for plain in (one for one in configurations(sweeps) if one.settings["cages"] == "sum"):
        separator = "," if ":" in plain.text else ":"
        sets = configuration(f"{plain.text}{separator}cages=sets").text
        cells = [cell for kind in KINDS for cell in _cells(found[plain.text, kind], found[sets, kind])]
        yield f"| `{plain.text}` | " + " | ".join(cells) + " |"


def _cells(plain: Spent, sets: Spent) -> tuple[str, str, str]:
    if plain.stopped and sets.stopped:
        return str(plain), str(sets), ""
    bound = "≥ " if plain.stopped else "≤ " if sets.stopped else ""
    return str(plain), str(sets), f"{bound}{plain.cpu_s / sets.cpu_s:.2g}"


if __name__ == "__main__":
    sweeps = list(words())
    print("\n".join(lines(sweeps, measured(sweeps, int(sys.argv[1]), int(sys.argv[2])))))
