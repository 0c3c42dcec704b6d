"""``make chaos``: a batch while faults strike, and whether it ends as it would have without them.

Two batches are solved by three workers on Redis and PostgreSQL, all of this program's own: the first undisturbed, the
second while faults strike that a seed draws. It ends well when the second is complete, with no run twice, the same
answers, and no process left. Needs root (network namespaces), redis-server, PostgreSQL's programs and iproute2.
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

from chaos.faults import LEASE_S, Fault, Striker, draw
from chaos.network import Network
from chaos.servers import Postgres, Redis, patiently
from chaos.workers import Fleet
from commanding import Scheduler, make_scheduler

HOSTS = 3
PUZZLES, CONFIGURATIONS = 50, ("propagation", "scip")  # milliseconds a run, and of two families
EACH = PUZZLES * len(CONFIGURATIONS)
STALLED_S = 120.0  # without a run stored, the batch is stuck
PROGRESS = "SELECT state, (SELECT count(*) FROM run WHERE batch_id = batch.id) FROM batch WHERE id = {}"
ANSWERS = (
    "SELECT configuration_id, puzzle_id, repeat, stop, answer, solution FROM run WHERE batch_id = {} ORDER BY 1, 2, 3"
)
KEY = "batch_id, configuration_id, puzzle_id, repeat"
TWICE = f"SELECT count(*) FROM (SELECT 1 FROM run GROUP BY {KEY} HAVING count(*) > 1) AS twice"  # noqa: S608 - ours


def main() -> int:
    """Run it; 0 when all is as it should be."""
    options = _options()
    signal.signal(signal.SIGTERM, lambda *_: sys.exit(128 + signal.SIGTERM))  # so that nothing is left then, either
    faults = draw(options.seed, options.faults, HOSTS)
    print(f"seed {options.seed}: {options.faults} faults in {options.runs:,} runs (--seed {options.seed} repeats them)")
    began = time.monotonic()
    with _stage(options.keep) as (command, fleet, striker):
        postgres = striker.postgres
        undisturbed = _submit(command, options.runs)
        _follow(postgres, undisturbed, options.runs, [], striker)
        print(f"undisturbed: {time.monotonic() - began:.0f} s")
        disturbed = _submit(command, options.runs)
        _follow(postgres, disturbed, options.runs, faults, striker)
        striker.wait()
        found = _faults_of(postgres, undisturbed, disturbed, options.runs)
        took = fleet.stop()
        if left := fleet.left():
            found.append(f"{len(left)} processes are left: {left}")
        if took > 2 * len(fleet.processes):
            found.append(f"the workers took {took:.1f} s to stop")
    for line in found:
        print(f"WRONG: {line}")
    told = "nothing was lost" if not found else "failed"
    print(f"seed {options.seed}: {told}, {options.runs:,} runs, {time.monotonic() - began:.0f} s")
    return 1 if found else 0


def _options() -> argparse.Namespace:
    parser = argparse.ArgumentParser(prog="make chaos", description=(__doc__ or "").partition("\n")[0])
    parser.add_argument("--seed", type=int, default=random.randrange(1_000_000), help="what draws the faults")
    parser.add_argument("--faults", type=int, default=30, help="how many strike (30)")
    parser.add_argument("--runs", type=int, default=3000, help=f"of each batch, a multiple of {EACH} (3,000)")
    parser.add_argument("--keep", type=Path, help="a folder for the workers' log")
    options = parser.parse_args()
    if options.runs % EACH or options.runs < EACH or options.faults < 0:
        parser.error(f"--runs is a multiple of {EACH}, and --faults not negative")
    if os.geteuid() != 0 or not shutil.which("ip"):
        parser.error("the workers' hosts are network namespaces: start it as root, with iproute2 installed")
    return options


@contextmanager
def _stage(keep: Path | None) -> Iterator[tuple[Scheduler, Fleet, Striker]]:
    """Servers, hosts and live workers; nothing is left of them."""
    folder = Path(tempfile.mkdtemp(prefix="cagematch-chaos-"))
    network = Network(HOSTS)
    network.make()
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
        yield command, fleet, Striker(fleet, network, redis, postgres)
    finally:
        fleet.kill()
        command.close()
        redis.stop()
        postgres.remove()
        network.remove()
        shutil.rmtree(folder, ignore_errors=True)


def _submit(command: Scheduler, runs: int) -> int:
    words = [word for name in CONFIGURATIONS for word in ("-s", name)]
    told = command("submit", "easy", *words, "--repeat", runs // EACH, "--timeout", "60s").stdout
    return int(told.split()[1])


def _follow(postgres: Postgres, batch: int, runs: int, faults: list[Fault], striker: Striker) -> None:
    """Until the batch is done. The faults are spread over its progress, so that each strikes while there is work."""
    due = [(at + 0.5) * runs / max(len(faults), 1) for at in range(len(faults))]
    done, moved = 0, time.monotonic()
    while True:
        row = patiently(lambda: postgres.rows(PROGRESS.format(batch))[0])
        state, count = row or ("", done)
        if count > done:
            done, moved = count, time.monotonic()
        while faults and done >= due[0]:
            fault = faults.pop(0)
            due.pop(0)
            print(f"  {done:5,} runs: {fault}", flush=True)
            striker.strike(fault)
        if state == "done":
            return
        if time.monotonic() - moved > STALLED_S:
            raise SystemExit(f"WRONG: stuck at {done} of {runs} runs")
        time.sleep(0.1)


def _faults_of(postgres: Postgres, undisturbed: int, disturbed: int, runs: int) -> list[str]:
    """What is not as it should be."""
    found = []
    first, second = ([row[:] for row in postgres.rows(ANSWERS.format(batch))] for batch in (undisturbed, disturbed))
    if len(second) != runs:
        found.append(f"{len(second)} runs of {runs}")
    if twice := postgres.value(TWICE):
        found.append(f"{twice} runs are stored twice")
    different = set(first) ^ set(second)
    found += [f"answers differ: {row}" for row in sorted(different)[:10]]
    return found


if __name__ == "__main__":
    sys.exit(main())
