"""For tests of the keeper: clients of keepers with the hostile backends, runs, and checks for remaining processes."""

from __future__ import annotations

import itertools
import os
import time
import uuid
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import NamedTuple

import pytest

from cagematch.problems.problem import Problem
from cagematch.workers.backends import BACKENDS
from cagematch.workers.configurations import expanded
from cagematch.workers.keeper.client import KeeperClient
from cagematch.workers.machine.procfs import process_ids
from cagematch.workers.messages.protocol import BatchLimits, BatchSettings, RunAnswer, RunRequest
from cagematch.workers.sandbox.solving import problem_of

ROOT = Path(__file__).resolve().parent.parent.parent
EASY = "..3.2.6..9..3.5..1..18.64....81.29..7.......8..67.82....26.95..8..2.3..9..5.1.3.."
HARD = "4.....8.5.3..........7......2.....6.....8.4......1.......6.3.7.5..2.....1.4......"
LIMITS = BatchLimits(0.3, 300, 0.2)
PATIENT = BatchLimits(20.0, 2000)
SLOW_S = 1.0  # tolerance for a slow machine
MARK = "HOSTILE_MARK"
_numbers = itertools.count(1)


class Job(NamedTuple):
    """A run and its configuration."""

    configuration: str
    request: RunRequest


def environment(folder: Path) -> dict[str, str]:
    """Return an environment with the hostile backends, and with its own core locks and temporary files."""
    (folder / "tmp").mkdir(exist_ok=True)
    path = os.pathsep.join([str(ROOT / "src"), str(ROOT / "tests" / "hostile")])
    own = {"CAGEMATCH_LOCKS": str(folder / "locks"), "TMPDIR": str(folder / "tmp"), "PYTHONPATH": path}
    return own | {MARK: uuid.uuid4().hex}


def files(root: Path, texts: dict[str, str]) -> Path:
    """Write the files of a simulated machine below a folder, in the kernel's format."""
    for name, text in texts.items():
        (root / name).parent.mkdir(parents=True, exist_ok=True)
        (root / name).write_text(text)
    return root


def topology(root: Path, threads: dict[int, str]) -> Path:
    """Write the processors of a simulated machine: each hardware thread with its siblings, in the kernel's format."""
    where = "sys/devices/system/cpu/cpu{}/topology/thread_siblings_list"
    return files(root, {where.format(thread): listed + "\n" for thread, listed in threads.items()})


@contextmanager
def keeper_client(folder: Path) -> Iterator[KeeperClient]:
    """Yield a keeper client; at the end, no process and no file of the keeper may remain."""
    with pytest.MonkeyPatch.context() as patch:
        for name, value in environment(folder).items():
            patch.setenv(name, value)
        patch.setattr("tempfile.tempdir", None)
        keeper = KeeperClient()
        try:
            yield keeper
        finally:
            keeper.close()
        until(lambda: not marked())
        assert list((folder / "tmp").iterdir()) == []


def job(configuration: str, text: str = EASY) -> Job:
    """Return a run of a configuration."""
    return Job(configuration, RunRequest(next(_numbers), "sudoku", text, 1))


def settings(configuration: str, limits: BatchLimits) -> BatchSettings:
    """Return the settings of a batch that solves puzzles with one configuration."""
    name = configuration.partition(":")[0]
    backend = expanded(name).partition(":")[0]
    family = BACKENDS[backend].family if backend in BACKENDS else name  # only the sandbox finds the hostile ones
    return BatchSettings(family, configuration, limits)


def submit(keeper: KeeperClient, jobs: list[Job], limits: BatchLimits) -> None:
    """Submit runs; consecutive runs of one configuration are sent together."""
    for configuration, group in itertools.groupby(jobs, lambda job: job.configuration):
        keeper.submit([job.request for job in group], settings(configuration, limits))


def collect(keeper: KeeperClient, jobs: list[Job], within_s: float = 60.0) -> list[RunAnswer]:
    """Return the answers to submitted runs, each once and in order."""
    found: list[RunAnswer] = []
    deadline = time.monotonic() + within_s
    while len(found) < len(jobs) and time.monotonic() < deadline:
        found += keeper.answers(deadline - time.monotonic())
    assert [answer.number for answer in found] == [each.request.number for each in jobs]
    return found


def run(keeper: KeeperClient, *configurations: str, limits: BatchLimits = LIMITS, text: str = EASY) -> list[RunAnswer]:
    """Submit runs and return their answers."""
    jobs = [job(configuration, text) for configuration in configurations]
    submit(keeper, jobs, limits)
    return collect(keeper, jobs)


def solves(keeper: KeeperClient, configuration: str = "hostile", limits: BatchLimits = PATIENT) -> bool:
    """Return whether a well-behaved run is answered correctly."""
    (answer,) = run(keeper, configuration, limits=limits)
    return answer.stop == "finished" and puzzle().is_solution(answer.assignment)


def puzzle(text: str = EASY) -> Problem:
    """Return the problem of the puzzle that runs solve."""
    return problem_of("sudoku", text)


def marked(value: str | None = None) -> list[int]:
    """Return the living processes with the mark of this test, without this process."""
    mark = f"{MARK}={value or os.environ[MARK]}".encode()
    return [pid for pid in process_ids() if pid != os.getpid() and mark in _read(pid, "environ").split(b"\0")]


def named(module: str) -> list[int]:
    """Return the marked processes whose command line contains a word, such as ``cagematch.workers.sandbox``."""
    return [pid for pid in marked() if module.encode() in _read(pid, "cmdline")]


def _read(pid: int, name: str) -> bytes:
    try:
        return Path(f"/proc/{pid}/{name}").read_bytes()
    except OSError:
        return b""


def until(holds: Callable[[], object], within_s: float = 10.0) -> None:
    """Wait until a condition holds."""
    deadline = time.monotonic() + within_s
    while not holds():
        assert time.monotonic() < deadline, "the condition did not hold in time"
        time.sleep(0.01)
