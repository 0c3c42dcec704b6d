"""Measure the figures, and print each with its commands and its target."""

from __future__ import annotations

import argparse
import os
import platform
import signal
import sys
import time
from importlib.metadata import version

from benchmarks.figures import figures
from benchmarks.harness.pairs import Result, measure
from benchmarks.harness.services import Services, find_services
from benchmarks.harness.written import RESULTS, write
from cagematch.workers.machine.host import host_facts

LIBRARIES = ("ortools", "celery", "SQLAlchemy", "psycopg")


def main() -> int:
    """Return 0 when at least one figure was measured and all reached their targets."""
    options = _arguments()
    signal.signal(signal.SIGTERM, lambda *_: sys.exit(1))  # Ends the processes that were started.
    services = find_services()
    print(_machine(services), flush=True)
    if services is None:
        print("Redis or PostgreSQL does not answer; skipping the figures that need both.")
    seconds, pairs = (5.0, 1) if options.quick else (options.seconds, options.pairs)
    results: list[Result] = []
    for figure in figures(seconds, services, options.puzzles):
        if options.only in figure.name:
            results.append(measure(figure, pairs))
            print(f"\n{results[-1]}", flush=True)
    if options.write and results:
        _write(results, options.only, f"--seconds {seconds:g} --pairs {pairs}", services)
    if not results:
        print(f"found no figure for --only {options.only!r}; expected a part of a figure's name", file=sys.stderr)
    return 0 if results and all(result.reached for result in results) else 1


def _arguments() -> argparse.Namespace:
    parser = argparse.ArgumentParser(prog="python -m benchmarks", description=__doc__)
    parser.add_argument("--only", default="", metavar="NAME", help="measure only the figures whose name contains NAME")
    parser.add_argument("--seconds", type=float, default=30.0, help="approximate seconds per side [default: 30]")
    parser.add_argument("--pairs", type=int, default=5, help="how often both sides run, alternating [default: 5]")
    parser.add_argument("--puzzles", type=int, default=100_000, help="puzzles to load [default: 100000]")
    parser.add_argument("--quick", action="store_true", help="run one pair of 5 seconds: a smoke test, not a result")
    parser.add_argument("--write", action="store_true", help=f"write the results to {RESULTS.name}, which is committed")
    return parser.parse_args()


def _machine(services: Services | None) -> str:
    facts = host_facts()
    libraries = ", ".join(f"{name} {version(name)}" for name in LIBRARIES)
    system = f"{platform.system()} {platform.machine()}"
    lines = [
        f"{facts['processor']}, {facts['cores']} cores, {facts['memory_mib'] / 1024:.0f} GiB, {system}",
        f"Python {platform.python_version()}, {libraries}" + (f", {services.versions}" if services else ""),
        f"load at the start: {os.getloadavg()[0]:.2f}",
    ]
    return "\n".join(lines)


def _write(results: list[Result], only: str, how: str, services: Services | None) -> None:
    chosen = f'--only "{only}" ' if only else ""
    command = f"`python -m benchmarks {chosen}{how}`, {time.strftime('%Y-%m-%d')}."
    write(only, command, "\n\n".join((_machine(services), *map(str, results))))


if __name__ == "__main__":
    sys.exit(main())
