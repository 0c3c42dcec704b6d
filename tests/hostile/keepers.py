"""What the tests of the keeper share: keepers that find the hostile backends, runs, and a look for what was left."""

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
SLOW_S = 1.0  # how much a slow machine may add
MARK = "HOSTILE_MARK"
_numbers = itertools.count(1)


class Job(NamedTuple):
    """A run and its configuration."""

    configuration: str
    request: RunRequest


def environment(folder: Path) -> dict[str, str]:
    """For processes that are to find us and the hostile backends, with core locks and temporary files of their own."""
    (folder / "tmp").mkdir(exist_ok=True)
    path = os.pathsep.join([str(ROOT / "src"), str(ROOT / "tests" / "hostile")])
    own = {"CAGEMATCH_LOCKS": str(folder / "locks"), "TMPDIR": str(folder / "tmp"), "PYTHONPATH": path}
    return own | {MARK: uuid.uuid4().hex}


def files(root: Path, texts: dict[str, str]) -> Path:
    """A machine's files below a folder, as the kernel would show them."""
    for name, text in texts.items():
        (root / name).parent.mkdir(parents=True, exist_ok=True)
        (root / name).write_text(text)
    return root


def topology(root: Path, threads: dict[int, str]) -> Path:
    """A machine's processors: each hardware thread with its siblings as the kernel lists them."""
    where = "sys/devices/system/cpu/cpu{}/topology/thread_siblings_list"
    return files(root, {where.format(thread): listed + "\n" for thread, listed in threads.items()})


@contextmanager
def keeper_client(folder: Path) -> Iterator[KeeperClient]:
    """A keeper; at the end nothing of it may be left, neither process nor file."""
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
    """A run of a configuration."""
    return Job(configuration, RunRequest(next(_numbers), "sudoku", text, 1))


def settings(configuration: str, limits: BatchLimits) -> BatchSettings:
    """The settings of a batch that solves puzzles with one configuration."""
    name = configuration.partition(":")[0]
    backend = expanded(name).partition(":")[0]
    family = BACKENDS[backend].family if backend in BACKENDS else name  # only the sandbox finds the hostile ones
    return BatchSettings(family, configuration, limits)


def submit(keeper: KeeperClient, jobs: list[Job], limits: BatchLimits) -> None:
    """Send runs, together as far as they have the same configuration."""
    for configuration, group in itertools.groupby(jobs, lambda job: job.configuration):
        keeper.submit([job.request for job in group], settings(configuration, limits))


def collect(keeper: KeeperClient, jobs: list[Job], within_s: float = 60.0) -> list[RunAnswer]:
    """The answers to runs that were submitted, each once and in order."""
    found: list[RunAnswer] = []
    deadline = time.monotonic() + within_s
    while len(found) < len(jobs) and time.monotonic() < deadline:
        found += keeper.answers(deadline - time.monotonic())
    assert [answer.number for answer in found] == [each.request.number for each in jobs]
    return found


def run(keeper: KeeperClient, *configurations: str, limits: BatchLimits = LIMITS, text: str = EASY) -> list[RunAnswer]:
    """Do runs and return their answers."""
    jobs = [job(configuration, text) for configuration in configurations]
    submit(keeper, jobs, limits)
    return collect(keeper, jobs)


def solves(keeper: KeeperClient, configuration: str = "hostile", limits: BatchLimits = PATIENT) -> bool:
    """Whether a run that behaves is answered, and rightly."""
    (answer,) = run(keeper, configuration, limits=limits)
    return answer.stop == "finished" and puzzle().is_solution(answer.assignment)


def puzzle(text: str = EASY) -> Problem:
    """The problem of the puzzle that runs get."""
    return problem_of("sudoku", text)


def marked(value: str | None = None) -> list[int]:
    """The living processes that were started with this test's mark, this one apart."""
    mark = f"{MARK}={value or os.environ[MARK]}".encode()
    return [pid for pid in process_ids() if pid != os.getpid() and mark in _read(pid, "environ").split(b"\0")]


def named(module: str) -> list[int]:
    """Those of them whose command line has a word, as ``cagematch.workers.sandbox``."""
    return [pid for pid in marked() if module.encode() in _read(pid, "cmdline")]


def _read(pid: int, name: str) -> bytes:
    try:
        return Path(f"/proc/{pid}/{name}").read_bytes()
    except OSError:
        return b""


def until(holds: Callable[[], object], within_s: float = 10.0) -> None:
    """Wait for something to hold."""
    deadline = time.monotonic() + within_s
    while not holds():
        assert time.monotonic() < deadline, "it never came to hold"
        time.sleep(0.01)
