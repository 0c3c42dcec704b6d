"""All figures, and how each is measured."""

from __future__ import annotations

from collections.abc import Iterator
from contextlib import nullcontext
from functools import partial
from pathlib import Path
from tempfile import TemporaryDirectory

from benchmarks import bare, builds, loading, pipeline, plain_celery, starting, tuned
from benchmarks.harness.pairs import Contest, Figure, Side, in_turns
from benchmarks.harness.services import Services

CONFIGURATIONS = ("cp-sat:workers=1", "cp-min-size", "scip")
PACE_REPEATS = 2  # Repeats of the run that estimates how many repeats fill the requested seconds.
PUZZLES = 100_000
MOST_MIB = 200  # The largest peak memory of the loader.


def figures(seconds: float, services: Services | None, puzzles: int = PUZZLES) -> Iterator[Figure]:
    """Yield every figure that can be measured here."""
    for word in CONFIGURATIONS:
        contest = partial(_pipeline, seconds, word, None)
        yield Figure(f"pipeline / bare loop, embedded, {word}", "runs/s", 0.90, contest)
    for word in CONFIGURATIONS if services else ():
        contest = partial(_pipeline, seconds, word, services)
        yield Figure(f"pipeline / bare loop, distributed, {word}", "runs/s", 0.90, contest)
    if services:
        yield Figure("pipeline / plain Celery", "runs/s", 2.5, partial(_plain, seconds, services))
    yield Figure("loading / raw insert, SQLite", "puzzles/s", 0.4, partial(_loading, puzzles, None))
    if services:
        yield Figure("loading / raw insert, PostgreSQL", "puzzles/s", 0.4, partial(_loading, puzzles, services))
    yield Figure("starting / bare Python", "starts/s", 12.0, partial(_starting, seconds), at_most=True)
    yield from builds.figures()
    yield from tuned.figures()


def _pipeline(seconds: float, word: str, services: Services | None) -> Contest:
    repeats = _repeats(seconds, bare.rate(word, "hard", PACE_REPEATS), "hard")
    if services is None:
        ours = partial(pipeline.embedded, word, "hard", repeats)
    else:
        ours = partial(pipeline.distributed, services, word, "hard", repeats)
    theirs = partial(bare.rate, word, "hard", repeats)
    command = f"python -m benchmarks.bare {word} hard {repeats}"
    return in_turns(Side(f"scheduler submit hard -s {word} --repeat {repeats}", ours), Side(command, theirs))


def _plain(seconds: float, services: Services) -> Contest:
    """Both sides run for about the same time, so the faster pipeline gets more runs."""
    word, name = "cp-min-size", "easy"
    pace = bare.rate(word, name, 10 * PACE_REPEATS)
    mine, plain = _repeats(seconds, pace, name), _repeats(seconds, pace / 3, name)
    ours = Side(
        f"scheduler submit {name} -s {word} --repeat {mine}",
        partial(pipeline.distributed, services, word, name, mine),
    )
    command = f"python -m benchmarks.plain_celery {word} {name} {plain}"
    return in_turns(ours, Side(command, partial(plain_celery.rate, services, word, name, plain)))


def _repeats(seconds: float, pace: float, name: str) -> int:
    return max(1, round(seconds * pace / len(bare.texts(name))))


def _loading(puzzles: int, services: Services | None) -> Contest:
    where = "postgresql://…" if services else "sqlite:///…"
    sides = (Side(_load_command(how, where), partial(_load, how, puzzles, services)) for how in ("loader", "bare"))
    return in_turns(*sides)


def _load_command(how: str, where: str) -> str:
    return f"python -m benchmarks.loading {how} {where} puzzles.txt"


def _load(how: str, puzzles: int, services: Services | None) -> float:
    with TemporaryDirectory() as folder, services.fresh() if services else nullcontext():
        path = Path(folder, "puzzles.txt")
        loading.write_puzzles(path, puzzles)
        url = services.database if services else f"sqlite:///{folder}/loading.db"
        rate, peak_mib = loading.measured(how, url, path)
    if how == "loader" and peak_mib > MOST_MIB:
        raise RuntimeError(f"loading used {peak_mib:.0f} MiB, expected at most {MOST_MIB} MiB")
    return rate


def _starting(seconds: float) -> Contest:
    each = seconds / 6  # A start takes about 0.1 s, so this is enough for a mean.
    ours = Side("scheduler --help", partial(starting.rate, starting.HELP, each))
    return in_turns(ours, Side("python -c pass", partial(starting.rate, starting.NOTHING, each)))
