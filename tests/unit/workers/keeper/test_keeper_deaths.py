"""Workers, keepers and sandboxes that another process kills or stops."""

from __future__ import annotations

import os
import signal
import threading
import time
from collections.abc import Iterator
from pathlib import Path

import pytest
from hostile.keepers import (
    PATIENT,
    collect,
    job,
    keeper_client,
    marked,
    named,
    puzzle,
    run,
    solves,
    submit,
    until,
)
from hostile.working import WORKERS, Worker, changed

from cagematch.problems.errors import SandboxError
from cagematch.workers.keeper.client import KeeperClient
from cagematch.workers.machine.processes import children
from cagematch.workers.messages.protocol import BatchLimits

LONG = BatchLimits(30.0, 2000)


@pytest.fixture
def keeper(tmp_path: Path) -> Iterator[KeeperClient]:
    with keeper_client(tmp_path) as client:
        yield client


def sandbox(keeper: KeeperClient) -> int:
    """Wait for the sandbox and return its PID."""
    until(lambda: named("cagematch.workers.sandbox"))
    (pid,) = named("cagematch.workers.sandbox")
    return pid


def test_a_killed_worker_leaves_no_processes_or_files(tmp_path: Path) -> None:
    for configuration in ("hostile:do=daemon-and-hang", "hostile:do=bomb", "hostile:do=spin-in-c"):
        worker = Worker(tmp_path, 1, "hostile", configuration)
        worker.line()
        assert worker.line() == "1 finished\n"
        time.sleep(0.2)
        assert len(worker.left()) > 2

        worker.kill()

        until(lambda: not worker.left())  # noqa: B023
        assert list((tmp_path / "tmp").iterdir()) == []
        assert list(Path("/sys/fs/cgroup").glob(f"**/cagematch-*.{worker.keeper}.*")) == []


def test_killing_a_worker_ends_the_program_of_pulp(tmp_path: Path) -> None:
    worker = Worker(tmp_path, 1, *["pulp-cbc"] * 400)
    worker.line()
    worker.line()

    worker.kill()

    until(lambda: not worker.left())


def test_limits_hold_while_the_worker_is_stopped(tmp_path: Path) -> None:
    worker = Worker(tmp_path, 1, "hostile:do=eat", "hostile:do=fork-and-hang")
    worker.line()
    worker.process.send_signal(signal.SIGSTOP)
    try:
        until(lambda: len(worker.left()) == 4, 20.0)  # the first run was killed, the second has forked
    finally:
        worker.process.send_signal(signal.SIGCONT)

    assert worker.line() == "1 memout\n"
    worker.kill()
    until(lambda: not worker.left())


def test_a_killed_claimant_ends_at_once(tmp_path: Path) -> None:
    """The processes of a worker that is killed while it waits for a core end within seconds."""
    first = Worker(tmp_path, 99, "hostile:do=sleep")
    first.line()
    waiting = [Worker(tmp_path, 1) for _ in range(3)]  # one in the turnstile, two before it
    time.sleep(0.5)

    started = time.monotonic()
    for worker in waiting:
        worker.kill()
    until(lambda: not any(worker.left() for worker in waiting))

    assert time.monotonic() - started < 4.0
    first.kill()
    until(lambda: not first.left())


def test_a_killed_or_stopped_sandbox_is_replaced(
    keeper: KeeperClient,
) -> None:
    for number in (signal.SIGKILL, signal.SIGSTOP, signal.SIGTERM):
        assert solves(keeper)
        jobs = [job("hostile:do=sleep"), job("hostile")]
        submit(keeper, jobs, BatchLimits(1.0, 2000, 0.2))
        time.sleep(0.3)
        first = sandbox(keeper)
        os.kill(first, number)

        answers = collect(keeper, jobs)

        assert [answer.stop for answer in answers] == ["timeout", "finished"]
        assert first not in named("cagematch.workers.sandbox")


def test_a_killed_idle_sandbox_is_replaced(keeper: KeeperClient) -> None:
    assert solves(keeper)
    os.kill(sandbox(keeper), signal.SIGKILL)

    assert solves(keeper)


def test_three_killed_sandboxes_make_a_run_an_error(keeper: KeeperClient) -> None:
    jobs = [job("hostile:do=fork-and-hang"), job("hostile")]
    submit(keeper, jobs, LONG)

    for _ in range(3):
        until(lambda: len(marked()) == 3)  # the keeper, the sandbox, and the child of the run
        (before,) = children(keeper.pid)
        os.kill(before, signal.SIGKILL)
        until(lambda: before not in marked())  # noqa: B023

    first, second = collect(keeper, jobs)
    assert first.stop == "error"
    assert "killed by another process (ended by SIGKILL), 3 times" in first.detail
    assert second.stop == "finished"


def test_a_killed_keeper_ends_all_its_processes(tmp_path: Path) -> None:
    """Its client raises SandboxError."""
    with keeper_client(tmp_path) as keeper:
        assert solves(keeper)
        jobs = [job("hostile:do=daemon-and-hang")]
        submit(keeper, jobs, LONG)
        until(lambda: len(marked()) > 2)

        os.kill(keeper.pid, signal.SIGKILL)

        with pytest.raises(SandboxError, match="is gone"):
            collect(keeper, jobs)
        with pytest.raises(SandboxError, match="is gone"):
            submit(keeper, jobs, LONG)


def test_abort_ends_the_in_flight_run(keeper: KeeperClient) -> None:
    """The keeper accepts further runs."""
    assert solves(keeper)
    submit(keeper, [job("hostile:do=fork-and-hang"), job("hostile")], LONG)
    until(lambda: len(named("cagematch.workers.sandbox")) == 2)

    keeper.abort()

    assert named("cagematch.workers.sandbox") == []
    assert solves(keeper)
    keeper.abort()
    assert solves(keeper)


def test_kill_from_another_thread_ends_a_wait(tmp_path: Path) -> None:
    with keeper_client(tmp_path) as keeper:
        jobs = [job("hostile:do=spin-in-c")]
        submit(keeper, jobs, LONG)
        sandbox(keeper)
        threading.Timer(0.2, keeper.kill).start()

        with pytest.raises(SandboxError, match="is gone"):
            collect(keeper, jobs)

        keeper.close()
        keeper.kill()


def test_a_sandbox_start_failure_names_the_reason(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    text = (WORKERS / "sandbox/__main__.py").read_text()
    copy = changed(tmp_path, "sandbox/__main__.py", "import no_such_module\n" + text)
    monkeypatch.setattr("hostile.keepers.ROOT", copy)
    with keeper_client(tmp_path) as keeper:
        (answer,) = run(keeper, "hostile")

    assert answer.stop == "error"
    assert "SyntaxError" in answer.detail


def test_an_unusable_lock_folder_names_the_remedy(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    (tmp_path / "locks").write_text("a file where the folder should be")

    with keeper_client(tmp_path) as keeper, pytest.raises(SandboxError, match="set CAGEMATCH_LOCKS"):
        keeper.lease(1)


def test_an_idle_sandbox_has_the_full_start_timeout(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """The timeout for the start of a run counts from its request, not from the last answer."""
    text = (WORKERS / "keeper/supervision.py").read_text()
    assert "\nSTART_S = 60.0" in text
    sooner = text.replace("\nSTART_S = 60.0", "\nSTART_S = 3.0")
    monkeypatch.setattr("hostile.keepers.ROOT", changed(tmp_path, "keeper/supervision.py", sooner))

    with keeper_client(tmp_path) as keeper:
        assert solves(keeper)
        first = sandbox(keeper)
        time.sleep(3.2)
        assert solves(keeper)
        assert sandbox(keeper) == first


def test_a_solve_is_pinned_to_its_leased_cores(tmp_path: Path) -> None:
    usable = sorted(os.sched_getaffinity(0))
    if len(usable) < 2:
        pytest.skip("one core only")
    workers = [Worker(tmp_path, 1, "hostile:do=fork-and-hang") for _ in range(2)]
    leased = [int(worker.line().split()[1]) for worker in workers]
    for worker in workers:
        until(lambda: len(worker.left()) == 4)  # noqa: B023

    assert len(set(leased)) == 2
    for worker, core in zip(workers, leased, strict=True):
        pinned = [os.sched_getaffinity(pid) for pid in worker.left() if pid not in (worker.keeper, worker.process.pid)]
        assert pinned == [{core}, {core}]
        worker.kill()
        until(lambda: not worker.left())  # noqa: B023


def test_answers_are_correct_after_lease_changes(keeper: KeeperClient) -> None:
    for threads in (1, 99, 1):
        assert keeper.lease(threads)
        (answer,) = run(keeper, "hostile", limits=PATIENT)
        assert puzzle().is_solution(answer.assignment)
        keeper.release()
