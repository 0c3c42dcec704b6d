"""Backends that misbehave: each run ends in time with the right stop, and the next run is unaffected."""

from __future__ import annotations

import time
from collections.abc import Iterator
from pathlib import Path

import pytest
from hostile.keepers import (
    HARD,
    LIMITS,
    SLOW_S,
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
from hostile.working import WORKERS, changed

from cagematch.workers.keeper.client import KeeperClient
from cagematch.workers.machine.processes import children
from cagematch.workers.messages.protocol import BatchLimits


@pytest.fixture
def keeper(tmp_path: Path) -> Iterator[KeeperClient]:
    with keeper_client(tmp_path) as client:
        yield client


def only_sandboxes_are_left() -> bool:
    return len(marked()) == len(named("cagematch.workers.sandbox")) + len(named("cagematch.workers.keeper"))


OVERRUN = [
    "spin",
    "spin-in-c",
    "sleep",
    "hang-build",
    "ignore-signals",
    "fork-and-hang",
    "daemon-and-hang",
    "bomb",
    "late",
]
DEATHS = [
    ("segfault", "SIGSEGV", 11),
    ("abort", "SIGABRT", 6),
    ("exit", "code 3", 0),
    ("sys-exit", "code 75", 0),
    ("close-all", "code 1", 0),
]
GARBAGE = [
    ("status", "status that is in no table"),
    ("unhashable", "unhashable"),
    ("meaningless", "AttributeError"),
    ("short", "expected 81 values, one per variable, found 80"),
    ("words", "'str' object cannot be interpreted as an integer"),
    ("fractions", "'float' object cannot be interpreted as an integer"),
    ("huge", "OverflowError"),
    ("objects", "'object' object cannot be interpreted as an integer"),
    ("nothing", "AttributeError"),
    ("raise", "is no text, and this is no solver"),
]


@pytest.mark.parametrize("deed", OVERRUN)
def test_a_run_over_its_limit_is_a_timeout(keeper: KeeperClient, deed: str) -> None:
    """A run that ignores its limit ends soon after the grace period."""
    assert solves(keeper)

    started = time.monotonic()
    (answer,) = run(keeper, f"hostile:do={deed}")
    took = time.monotonic() - started

    print(f"{deed}: {1000 * (took - LIMITS.time_s - LIMITS.grace_s):.0f} ms past limit and grace")
    assert answer.stop == "timeout"
    assert LIMITS.time_s < answer.wall_s <= took < LIMITS.time_s + LIMITS.grace_s + SLOW_S
    assert only_sandboxes_are_left()
    assert solves(keeper)


@pytest.mark.parametrize(("deed", "words", "signal"), DEATHS)
def test_a_crash_is_reported_with_the_last_output(keeper: KeeperClient, deed: str, words: str, signal: int) -> None:
    (answer,) = run(keeper, f"hostile:do={deed}")

    assert (answer.stop, answer.signal) == ("crashed", signal)
    assert words in answer.detail
    assert deed != "segfault" or "about to read address 0" in answer.detail
    assert solves(keeper)


@pytest.mark.parametrize("deed", ["kill-itself", "stop-itself", "write-answers", "forge-answer"])
def test_a_repeatedly_interrupted_run_is_an_error(keeper: KeeperClient, deed: str) -> None:
    (answer,) = run(keeper, f"hostile:do={deed}")

    assert answer.stop == "error"
    assert answer.detail.endswith("3 times")
    assert solves(keeper)


@pytest.mark.parametrize("deed", ["eat", "eat-below"])
def test_memory_over_the_limit_ends_the_run(keeper: KeeperClient, deed: str) -> None:
    (answer,) = run(keeper, f"hostile:do={deed}", limits=BatchLimits(20.0, 300))

    print(f"{deed}: {answer.peak_mib - 300:.0f} MiB over the limit after {answer.wall_s:.3f} s")
    assert answer.stop == "memout"
    assert answer.peak_mib >= 300  # the limit itself, where the kernel holds it
    assert only_sandboxes_are_left()
    assert solves(keeper)


@pytest.mark.parametrize("deed", ["eat", "eat-below"])
def test_sampling_limits_memory_without_a_cgroup(tmp_path: Path, monkeypatch: pytest.MonkeyPatch, deed: str) -> None:
    """The keeper enforces the limit where it cannot create a cgroup."""
    text = (WORKERS / "machine/cgroups.py").read_text()
    assert '"/sys/fs/cgroup"' in text
    copy = changed(tmp_path, "machine/cgroups.py", text.replace('"/sys/fs/cgroup"', '"/nowhere"'))
    monkeypatch.setattr("hostile.keepers.ROOT", copy)

    with keeper_client(tmp_path) as keeper:
        (answer,) = run(keeper, f"hostile:do={deed}", limits=BatchLimits(20.0, 300))

        assert (answer.stop, answer.detail) == ("memout", "killed: over 300 MiB")
        assert answer.peak_mib > 300
        assert only_sandboxes_are_left()


def test_a_short_memory_peak_is_a_memout(keeper: KeeperClient) -> None:
    answers = run(keeper, "hostile:do=peak", "hostile:do=peak", limits=BatchLimits(20.0, 150))

    assert [answer.stop for answer in answers] == ["memout", "memout"]


@pytest.mark.parametrize("deed", ["fork", "daemon", "return-twice"])
def test_leftover_processes_are_killed_after_an_answer(keeper: KeeperClient, deed: str) -> None:
    """The answer of the run is kept."""
    answers = run(keeper, *[f"hostile:do={deed}"] * 5, limits=BatchLimits(20.0, 2000))

    assert {answer.stop for answer in answers} == {"finished"}
    until(only_sandboxes_are_left)
    assert solves(keeper)


@pytest.mark.parametrize(("deed", "words"), GARBAGE)
def test_an_invalid_answer_is_an_error_with_detail(keeper: KeeperClient, deed: str, words: str) -> None:
    (answer,) = run(keeper, f"hostile:do={deed}")

    assert (answer.answer, answer.stop, answer.assignment) == ("unknown", "error", None)
    assert words in answer.detail
    assert answer.detail.encode()
    assert solves(keeper)


def test_a_wrong_solution_is_passed_on_unchanged(keeper: KeeperClient) -> None:
    (answer,) = run(keeper, "hostile:do=wrong")

    assert (answer.answer, answer.stop) == ("solution", "finished")
    assert not puzzle().is_solution(answer.assignment)


def test_much_output_does_not_block_a_solver(keeper: KeeperClient) -> None:
    (answer,) = run(keeper, "hostile:do=chatter", limits=BatchLimits(20.0, 2000))

    assert answer.stop == "finished"


def test_runs_continue_after_a_failed_warm_up(keeper: KeeperClient, monkeypatch: pytest.MonkeyPatch) -> None:
    """A warm-up that crashes or hangs is abandoned, and the runs start without it."""
    answers = run(keeper, *["hostile:do=segfault,when=always"] * 2, *["hostile:do=sleep,when=always"] * 2)

    assert [answer.stop for answer in answers] == ["crashed", "crashed", "timeout", "timeout"]
    assert answers[-1].wall_s < LIMITS.time_s + LIMITS.grace_s + SLOW_S
    assert solves(keeper)


def test_a_missing_backend_module_is_an_error(keeper: KeeperClient) -> None:
    (answer,) = run(keeper, "hostile-broken")

    assert answer.stop == "error"
    assert "No module named 'hostile_module_that_is_not_there'" in answer.detail
    assert solves(keeper)


def test_pipelined_runs_are_answered_once_in_order(keeper: KeeperClient) -> None:
    """Crashes, timeouts and errors of some runs do not affect the others."""
    deeds = ["solve", "solve", "exit", "solve", "sleep", "solve", "solve", "segfault", "abort", "status", "solve"]

    answers = run(keeper, *[f"hostile:do={deed}" for deed in deeds])

    expected = {"exit": "crashed", "segfault": "crashed", "abort": "crashed", "sleep": "timeout", "status": "error"}
    assert [answer.stop for answer in answers] == [expected.get(deed, "finished") for deed in deeds]
    for deed, answer in zip(deeds, answers, strict=True):
        assert deed != "solve" or puzzle().is_solution(answer.assignment)


def test_a_long_run_does_not_delay_earlier_answers(keeper: KeeperClient) -> None:
    """With `in_turns`, answers are held for a short time at most."""
    keeper.in_turns = True
    jobs = [job("hostile"), job("hostile"), job("hostile:do=sleep"), job("hostile")]
    submit(keeper, jobs, BatchLimits(4.0, 2000, 0.2))

    parts: list[list[int]] = []
    until(lambda: parts.append([answer.number for answer in keeper.answers(5.0)]) or sum(map(len, parts)) == len(jobs))

    numbers = [each.request.number for each in jobs]
    assert [each for each in parts if each] == [numbers[:2], numbers[2:]]


def test_at_most_two_sandboxes_are_kept(keeper: KeeperClient) -> None:
    """Runs of several families alternate."""
    answers = run(keeper, *["hostile", "hostile-too", "hostile-three", "hostile"] * 2, limits=BatchLimits(20.0, 2000))

    assert {answer.stop for answer in answers} == {"finished"}
    assert len(named("cagematch.workers.sandbox")) == 2


def test_leftovers_end_while_another_family_runs(keeper: KeeperClient) -> None:
    jobs = [job("hostile:do=fork"), job("hostile-too:do=sleep")]
    submit(keeper, jobs, BatchLimits(3.0, 2000))
    until(lambda: len(list(children(keeper.pid))) == 2)

    until(lambda: len(named("cagematch.workers.sandbox")) == 2, 2.0)

    assert [answer.stop for answer in collect(keeper, jobs)] == ["finished", "timeout"]


def test_a_sandbox_has_no_service_addresses(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """It runs in its own folder."""
    monkeypatch.setenv("CAGEMATCH_DATABASE_URL", "postgresql://secret-1")
    monkeypatch.setenv("CAGEMATCH_BROKER_URL", "redis://secret-2")
    with keeper_client(tmp_path) as keeper:
        (answer,) = run(keeper, "hostile:do=show-environment")

    detail = answer.detail
    assert f"RuntimeError: {tmp_path}" in detail
    assert "CAGEMATCH_LOCKS" in detail
    assert "secret" not in detail


def descriptors(keeper: KeeperClient) -> list[str]:
    return sorted(path.name for path in Path(f"/proc/{keeper.pid}/fd").iterdir())


def test_new_sandboxes_leak_no_descriptors(keeper: KeeperClient) -> None:
    run(keeper, "hostile:do=exit", "hostile")
    before = descriptors(keeper)

    for _ in range(10):
        run(keeper, *["hostile:do=exit"] * 5)
    assert solves(keeper)

    assert descriptors(keeper) == before


def test_the_cpu_time_of_killed_runs_is_measured(keeper: KeeperClient) -> None:
    (answer,) = run(keeper, "hostile:do=work-and-hang", limits=BatchLimits(1.0, 2000, 0.2))

    assert answer.stop == "timeout"
    assert 0.17 <= answer.cpu_s < 0.3  # the kernel counts in hundredths
    assert answer.peak_mib > 5


def test_the_peak_is_per_run_and_includes_children(keeper: KeeperClient) -> None:
    peak, solve, helper = run(
        keeper, "hostile:do=peak", "hostile", "hostile:do=helper", limits=BatchLimits(20.0, 2000), text=HARD
    )

    for answer in (peak, solve, helper):
        assert answer.stop == "finished", answer
        assert 0 < answer.baseline_mib <= answer.peak_mib
    assert peak.peak_mib > peak.baseline_mib + 190
    assert solve.peak_mib < solve.baseline_mib + 50
    assert helper.peak_mib > helper.baseline_mib + 140
    assert helper.cpu_s > 0.29


def test_a_grown_sandbox_is_replaced_between_runs(keeper: KeeperClient) -> None:
    answers = run(keeper, *["hostile:do=leak"] * 20, limits=BatchLimits(20.0, 2000))

    assert {answer.stop for answer in answers} == {"finished"}
    assert max(answer.baseline_mib for answer in answers) < answers[0].baseline_mib + 50
    assert answers[0].baseline_mib + 8 < answers[2].baseline_mib


@pytest.mark.parametrize("configuration", ["cp-min-size", "pulp-cbc"])
def test_a_real_solver_keeps_its_sandbox(keeper: KeeperClient, configuration: str) -> None:
    assert solves(keeper, configuration)
    before = named("cagematch.workers.sandbox")

    answers = run(keeper, *[configuration] * 60, limits=BatchLimits(20.0, 2000))

    assert {answer.stop for answer in answers} == {"finished"}
    assert named("cagematch.workers.sandbox") == before
