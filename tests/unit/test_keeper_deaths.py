"""Workers, keepers and sandboxes that are killed, stopped or sent away from outside."""

from __future__ import annotations

import os
import signal
import threading
import time
from collections.abc import Iterator
from pathlib import Path

import pytest
from hostile.caged import (
    PATIENT,
    caged,
    collect,
    job,
    marked,
    named,
    puzzle,
    run,
    solves,
    until,
)
from hostile.working import WORKERS, Worker, changed

from problems.errors import SandboxError
from workers.cage import Cage, Limits

LONG = Limits(30.0, 2000)


@pytest.fixture
def cage(tmp_path: Path) -> Iterator[Cage]:
    with caged(tmp_path) as made:
        yield made


def sandbox(cage: Cage) -> int:
    """The one sandbox, once it is at a run."""
    until(lambda: named("workers.sandbox"))
    (pid,) = named("workers.sandbox")
    return pid


def test_a_worker_that_is_killed_leaves_nothing_behind(tmp_path: Path) -> None:
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


def test_a_worker_that_is_killed_takes_the_program_that_pulp_started_with_it(tmp_path: Path) -> None:
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
        until(lambda: len(worker.left()) == 4, 20.0)  # the eater was killed, the second one has forked
    finally:
        worker.process.send_signal(signal.SIGCONT)

    assert worker.line() == "1 memout\n"
    worker.kill()
    until(lambda: not worker.left())


def test_a_worker_that_is_killed_while_it_waits_for_a_core_is_let_go_at_once(tmp_path: Path) -> None:
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


def test_a_sandbox_that_is_killed_or_stopped_from_outside_is_replaced_and_its_run_repeated(cage: Cage) -> None:
    for number in (signal.SIGKILL, signal.SIGSTOP, signal.SIGTERM):
        assert solves(cage)
        jobs = [job("hostile:do=sleep"), job("hostile")]
        cage.submit(jobs, Limits(1.0, 2000, 0.2))
        time.sleep(0.3)
        first = sandbox(cage)
        os.kill(first, number)

        answers = collect(cage, jobs)

        assert [answer["stop"] for answer in answers] == ["timeout", "finished"]
        assert first not in named("workers.sandbox")


def test_an_idle_sandbox_that_is_killed_is_replaced_without_a_word(cage: Cage) -> None:
    assert solves(cage)
    os.kill(sandbox(cage), signal.SIGKILL)

    assert solves(cage)


def test_a_run_in_a_sandbox_that_is_killed_three_times_is_an_error(cage: Cage) -> None:
    jobs = [job("hostile:do=sleep"), job("hostile")]
    cage.submit(jobs, LONG)

    for _ in range(3):
        before = sandbox(cage)
        time.sleep(0.3)
        os.kill(before, signal.SIGKILL)
        until(lambda: before not in named("workers.sandbox") and named("workers.sandbox"))  # noqa: B023

    first, second = collect(cage, jobs)
    assert first["stop"] == "error"
    assert "killed from outside (ended by SIGKILL), 3 times" in first["detail"]
    assert second["stop"] == "finished"


def test_a_keeper_that_is_killed_takes_all_with_it_and_its_cage_says_so(tmp_path: Path) -> None:
    with caged(tmp_path) as cage:
        assert solves(cage)
        jobs = [job("hostile:do=daemon-and-hang")]
        cage.submit(jobs, LONG)
        until(lambda: len(marked()) > 2)

        os.kill(cage.pid, signal.SIGKILL)

        with pytest.raises(SandboxError, match="is gone"):
            collect(cage, jobs)
        with pytest.raises(SandboxError, match="is gone"):
            cage.submit(jobs, LONG)


def test_abort_ends_the_run_under_way_and_the_cage_goes_on(cage: Cage) -> None:
    assert solves(cage)
    cage.submit([job("hostile:do=fork-and-hang"), job("hostile")], LONG)
    until(lambda: len(named("workers.sandbox")) == 2)

    cage.abort()

    assert named("workers.sandbox") == []
    assert solves(cage)
    cage.abort()
    assert solves(cage)


def test_kill_from_another_thread_ends_a_wait(tmp_path: Path) -> None:
    with caged(tmp_path) as cage:
        jobs = [job("hostile:do=spin-in-c")]
        cage.submit(jobs, LONG)
        sandbox(cage)
        threading.Timer(0.2, cage.kill).start()

        with pytest.raises(SandboxError, match="is gone"):
            collect(cage, jobs)

        cage.close()
        cage.kill()


def test_a_sandbox_that_does_not_start_is_an_error_that_says_why(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    text = (WORKERS / "sandbox.py").read_text()
    monkeypatch.setattr("hostile.caged.ROOT", changed(tmp_path, "sandbox.py", "import no_such_module\n" + text))
    with caged(tmp_path) as cage:
        (answer,) = run(cage, "hostile")

    assert answer["stop"] == "error"
    assert "SyntaxError" in answer["detail"]


def test_locks_that_cannot_be_made_are_an_error_that_names_the_cure(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    (tmp_path / "locks").write_text("a file where the folder should be")

    with caged(tmp_path) as cage, pytest.raises(SandboxError, match="set CAGEMATCH_LOCKS"):
        cage.lease(1)


def test_a_sandbox_that_idled_for_long_is_given_its_time(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """The wait for a run's beginning counts from when it was sent, not from the last answer."""
    text = (WORKERS / "keeper.py").read_text()
    assert "\nSTART_S = 60.0" in text
    sooner = text.replace("\nSTART_S = 60.0", "\nSTART_S = 3.0")
    monkeypatch.setattr("hostile.caged.ROOT", changed(tmp_path, "keeper.py", sooner))

    with caged(tmp_path) as cage:
        assert solves(cage)
        first = sandbox(cage)
        time.sleep(3.2)
        assert solves(cage)
        assert sandbox(cage) == first


def test_a_solve_keeps_to_the_cores_that_were_leased(tmp_path: Path) -> None:
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


def test_answers_are_the_run_s_own_after_a_change_of_the_lease(cage: Cage) -> None:
    for threads in (1, 99, 1):
        assert cage.lease(threads)
        (answer,) = run(cage, "hostile", limits=PATIENT)
        assert puzzle().is_solution(answer["assignment"])
        cage.release()
