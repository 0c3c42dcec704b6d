"""Loading: many puzzles with the loader, and the same rows with the driver's own ``executemany``.

``python -m benchmarks.loading loader|bare URL FILE`` prints puzzles per second and the peak resident memory in MiB.
"""

from __future__ import annotations

import random
import subprocess
import sys
import time
from pathlib import Path
from typing import Any

from sqlalchemy import Engine

from benchmarks.bare import KIND, texts
from benchmarks.pipeline import environment
from cagematch.models.engine import open_engine
from cagematch.models.schema import upgrade
from cagematch.scheduler.batches.puzzle_sets import Loaded, find_source, load, store_set

PUZZLE = "INSERT INTO puzzle (id, kind, text, fingerprint) VALUES (?, ?, ?, ?)"
SET = "INSERT INTO puzzle_set (id, name, digest, source, ready, created_at) VALUES (?, ?, ?, ?, ?, ?)"
ENTRY = "INSERT INTO set_entry (set_id, position, puzzle_id, line, label) VALUES (?, ?, ?, ?, ?)"
DIGITS = "123456789"


def write_puzzles(path: Path, count: int) -> None:
    """Write ``count`` different puzzles, one per line: the hard ones with permuted digits."""
    shuffled, known, hard = random.Random(0), dict[str, None](), texts("hard")
    while len(known) < count:
        names = "".join(shuffled.sample(DIGITS, 9))
        known |= dict.fromkeys(text.translate(str.maketrans(DIGITS, names)) for text in hard)
    path.write_text("\n".join(list(known)[:count]) + "\n", encoding="ascii")


def measured(how: str, url: str, path: Path) -> tuple[float, float]:
    """Return puzzles per second and peak MiB of a new process on an empty database."""
    engine = open_engine(url)
    upgrade(engine)
    engine.dispose()
    command = [sys.executable, "-m", "benchmarks.loading", how, url, str(path)]
    ran = subprocess.run(command, env=environment(str(path.parent), {}), check=True, stdout=subprocess.PIPE, text=True)
    rate, peak = ran.stdout.split()
    return float(rate), float(peak)


def _loader(engine: Engine, path: Path) -> float:
    started = time.perf_counter()
    loaded = load(find_source(str(path)), KIND, None, skip_invalid=False)
    store_set(engine, loaded)
    return len(loaded.rows) / (time.perf_counter() - started)


def _bare(engine: Engine, path: Path) -> float:
    """Time the inserts only; their rows are prepared before."""
    loaded = load(find_source(str(path)), KIND, None, skip_invalid=False)
    puzzles, entries = _rows(loaded)
    mark = "?" if engine.dialect.name == "sqlite" else "%s"
    connection = engine.raw_connection()
    cursor = connection.cursor()
    started = time.perf_counter()
    if mark == "?":
        cursor.execute("BEGIN")
    cursor.execute(SET.replace("?", mark), (1, "bare", loaded.digest, "", True, 0.0))
    cursor.executemany(PUZZLE.replace("?", mark), puzzles)
    cursor.executemany(ENTRY.replace("?", mark), entries)
    cursor.execute("COMMIT")
    return len(puzzles) / (time.perf_counter() - started)


def _rows(loaded: Loaded) -> tuple[list[tuple[Any, ...]], list[tuple[Any, ...]]]:
    puzzles = [(at, KIND, text, fingerprint) for at, (text, fingerprint, _, _) in enumerate(loaded.rows, 1)]
    entries = [(1, at, at + 1, line, label) for at, (_, _, line, label) in enumerate(loaded.rows)]
    return puzzles, entries


def _peak_mib() -> float:
    """The peak of this process; ``getrusage`` would start with the peak of its parent."""
    lines = Path("/proc/self/status").read_text(encoding="ascii").splitlines()
    return next(int(line.split()[1]) for line in lines if line.startswith("VmHWM")) / 1024


if __name__ == "__main__":
    _, chosen, address, file = sys.argv
    measured_rate = (_loader if chosen == "loader" else _bare)(open_engine(address), Path(file))
    print(f"{measured_rate:.0f} {_peak_mib():.0f}")
