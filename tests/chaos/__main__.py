"""``make chaos``: inject faults while a batch runs, and check that nothing is lost.

The program starts Redis, PostgreSQL and three workers, and runs the same batch twice: first without faults, then with
faults that a seed draws. It succeeds when the second batch is complete, without duplicate runs, with the same answers,
and when no process remains. It needs root (network namespaces), redis-server, PostgreSQL's programs and iproute2.
"""

from __future__ import annotations

import argparse
import os
import random
import shutil
import signal
import sys
import tempfile
import time
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path

sys.path.insert(0, str(Path(__file__).resolve().parents[1]))

from chaos.faults import LEASE_S, Fault, Injector, draw
from chaos.network import Network
from chaos.servers import Postgres, Redis, or_none
from chaos.workers import Fleet
from commanding import Scheduler, make_scheduler

HOSTS = 3
PUZZLES, CONFIGURATIONS = 50, ("propagation", "scip")  # A run takes milliseconds; two families of backends.
RUNS_PER_REPEAT = PUZZLES * len(CONFIGURATIONS)
STALLED_S = 120.0  # Seconds without a stored run after which the batch counts as stuck.
STOP_S = 2  # Seconds that each worker may take to stop.
PROGRESS = "SELECT state, (SELECT count(*) FROM run WHERE batch_id = batch.id) FROM batch WHERE id = {}"
ANSWERS = (
    "SELECT configuration_id, puzzle_id, repeat, stop, answer, solution FROM run WHERE batch_id = {} ORDER BY 1, 2, 3"
)
KEY = "batch_id, configuration_id, puzzle_id, repeat"
DUPLICATES = f"SELECT count(*) FROM (SELECT 1 FROM run GROUP BY {KEY} HAVING count(*) > 1) AS twice"  # noqa: S608 - ours


def main() -> int:
    """Run both batches; return 0 when nothing was lost."""
    options = _options()
    signal.signal(signal.SIGTERM, lambda *_: sys.exit(128 + signal.SIGTERM))  # Cleans up on SIGTERM as well.
    faults = draw(options.seed, options.faults, HOSTS)
    print(
        f"seed {options.seed}: {options.faults} faults in {options.runs:,} runs; repeat them with --seed {options.seed}"
    )
    began = time.monotonic()
    with _environment(options.keep) as (command, fleet, injector):
        postgres = injector.postgres
        undisturbed = _submit(command, options.runs)
        _follow(postgres, undisturbed, options.runs, [], injector)
        print(f"without faults: {time.monotonic() - began:.0f} s")
        disturbed = _submit(command, options.runs)
        _follow(postgres, disturbed, options.runs, faults, injector)
        injector.wait()
        found = _differences(postgres, undisturbed, disturbed, options.runs)
        took = fleet.stop()
        if left := fleet.left():
            found.append(f"{len(left)} processes remain: {left}")
        if took > (most_s := STOP_S * len(fleet.processes)):
            found.append(f"the workers took {took:.1f} s to stop, expected at most {most_s} s")
    for line in found:
        print(f"WRONG: {line}")
    verdict = "nothing was lost" if not found else "failed"
    print(f"seed {options.seed}: {verdict}, {options.runs:,} runs, {time.monotonic() - began:.0f} s")
    return 1 if found else 0


def _options() -> argparse.Namespace:
    parser = argparse.ArgumentParser(prog="make chaos", description=(__doc__ or "").partition("\n")[0])
    parser.add_argument(
        "--seed", type=int, default=random.randrange(1_000_000), help="seed that draws the faults [default: random]"
    )
    parser.add_argument("--faults", type=int, default=30, help="number of faults [default: 30]")
    parser.add_argument(
        "--runs", type=int, default=3000, help=f"runs of each batch, a multiple of {RUNS_PER_REPEAT} [default: 3000]"
    )
    parser.add_argument("--keep", type=Path, help="folder in which to keep the workers' log")
    options = parser.parse_args()
    if options.runs % RUNS_PER_REPEAT or options.runs < RUNS_PER_REPEAT or options.faults < 0:
        parser.error(
            f"found --runs {options.runs} and --faults {options.faults}; expected a positive multiple of "
            f"{RUNS_PER_REPEAT} runs, and 0 or more faults"
        )
    if os.geteuid() != 0 or not shutil.which("ip"):
        parser.error("network namespaces need root and iproute2; install iproute2 and run `sudo make chaos`")
    return options


@contextmanager
def _environment(keep: Path | None) -> Iterator[tuple[Scheduler, Fleet, Injector]]:
    """Start servers, hosts and workers; remove all of them at the end of the block."""
    folder = Path(tempfile.mkdtemp(prefix="cagematch-chaos-"))
    network = Network(HOSTS)
    network.create()
    redis, postgres = Redis(network.address), Postgres(network.address)
    (folder / "work").mkdir()
    lease = {"CAGEMATCH_LEASE_S": str(LEASE_S)}
    url = {"CAGEMATCH_DATABASE_URL": postgres.url, "CAGEMATCH_BROKER_URL": redis.url}
    command = make_scheduler(folder / "work", **lease, **url)
    fleet = Fleet(command, network, (keep or folder) / "workers.log")
    try:
        redis.start()
        postgres.start()
        command("db", "upgrade")
        fleet.start()
        yield command, fleet, Injector(fleet, network, redis, postgres)
    finally:
        fleet.kill()
        command.close()
        redis.stop()
        postgres.remove()
        network.remove()
        shutil.rmtree(folder, ignore_errors=True)


def _submit(command: Scheduler, runs: int) -> int:
    words = [word for name in CONFIGURATIONS for word in ("-s", name)]
    output = command("submit", "easy", *words, "--repeat", runs // RUNS_PER_REPEAT, "--timeout", "60s").stdout
    return int(output.split()[1])


def _follow(postgres: Postgres, batch: int, runs: int, faults: list[Fault], injector: Injector) -> None:
    """Wait until the batch is done, and spread the faults over its progress, so that each meets unfinished work."""
    due = [(at + 0.5) * runs / max(len(faults), 1) for at in range(len(faults))]
    done, moved = 0, time.monotonic()
    while True:
        row = or_none(lambda: postgres.rows(PROGRESS.format(batch))[0])
        state, count = row or ("", done)
        if count > done:
            done, moved = count, time.monotonic()
        while faults and done >= due[0]:
            fault = faults.pop(0)
            due.pop(0)
            print(f"  {done:5,} runs: {fault}", flush=True)
            injector.inject(fault)
        if state == "done":
            return
        if time.monotonic() - moved > STALLED_S:
            raise SystemExit(f"WRONG: no run was stored for {STALLED_S:g} s; {done} of {runs} runs are done")
        time.sleep(0.1)


def _differences(postgres: Postgres, undisturbed: int, disturbed: int, runs: int) -> list[str]:
    """What the disturbed batch lost, stored twice or answered differently."""
    found = []
    first, second = ([row[:] for row in postgres.rows(ANSWERS.format(batch))] for batch in (undisturbed, disturbed))
    if len(second) != runs:
        found.append(f"found {len(second)} runs, expected {runs}")
    if duplicates := postgres.value(DUPLICATES):
        found.append(f"{duplicates} runs are stored twice")
    different = set(first) ^ set(second)
    found += [f"answers differ: {row}" for row in sorted(different)[:10]]
    return found


if __name__ == "__main__":
    sys.exit(main())
