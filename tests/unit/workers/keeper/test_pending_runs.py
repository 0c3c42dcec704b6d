"""Pending runs: every run is answered once, in order."""

from __future__ import annotations

import pytest

from cagematch.problems.outcome import Answer, Stop
from cagematch.workers.keeper import pending_runs
from cagematch.workers.keeper.pending_runs import RETRIES, PendingRuns
from cagematch.workers.messages.frames import Frame, FrameReader, Kind, framed
from cagematch.workers.messages.protocol import BatchLimits, BatchSettings, RunAnswer, RunRequest, decode_as, encode

LIMITS = BatchLimits(1.0, 100)


def frame(message: RunRequest | RunAnswer) -> Frame:
    (found,) = FrameReader().feed(encode(message))
    return found


def request(number: int) -> Frame:
    return frame(RunRequest(number, "queens", "8", 1))


def answer(number: int) -> Frame:
    return frame(RunAnswer(number, Answer.NONE, Stop.FINISHED, 0.1))


@pytest.fixture
def pending() -> PendingRuns:
    runs = PendingRuns(bytearray())
    for number, family in enumerate("aabba", start=1):
        runs.add(request(number), BatchSettings(family, "scip", LIMITS))
    return runs


def answers(pending: PendingRuns) -> list[RunAnswer]:
    return [decode_as(RunAnswer, found) for found in FrameReader().feed(bytes(pending._outbox))]


def numbers(pending: PendingRuns) -> list[int]:
    return [found.number for found in answers(pending)]


def together() -> PendingRuns:
    runs = PendingRuns(bytearray())
    for number in range(1, 6):
        runs.add(request(number), BatchSettings("a", "scip", LIMITS, in_turns=True))
    return runs


def test_runs_are_handed_out_by_family(pending: PendingRuns) -> None:
    """After a recall, unanswered runs are handed out again."""
    assert [run.number for run in pending.hand_out()] == [1, 2]
    assert list(pending.hand_out()) == []

    assert pending.forward(answer(1))
    pending.recall()

    assert [run.number for run in pending.hand_out()] == [2]


def test_only_the_due_answer_is_forwarded(pending: PendingRuns) -> None:
    for number in (2, 11, 0, -1):
        assert not pending.forward(answer(number))
    assert pending.forward(answer(1))

    assert numbers(pending) == [1]
    assert pending.due == 2


def test_an_answer_is_forwarded_byte_by_byte(pending: PendingRuns) -> None:
    """The keeper reads the header only: a body of any content passes through it unchanged."""
    (odd,) = FrameReader().feed(framed(Kind.ANSWER, b"any bytes", 1))

    assert pending.forward(odd)

    assert bytes(pending._outbox) == odd.data


def test_a_disturbed_run_is_retried_then_fails(pending: PendingRuns) -> None:
    for _ in range(RETRIES):
        pending.disturb("the run was suspended")
        assert pending.due == 1
    pending.disturb("the run was suspended")

    (found,) = answers(pending)
    assert (found.number, found.stop, found.detail) == (1, Stop.ERROR, "the run was suspended, 3 times")
    assert pending.due == 2


def test_without_runs_nothing_is_disturbed_or_forwarded() -> None:
    pending = PendingRuns(bytearray())

    pending.disturb("nothing")

    assert not pending.forward(answer(0))
    assert (len(pending), pending.due, numbers(pending)) == (0, 0, [])


def test_answers_in_turns_wait_for_the_last() -> None:
    pending = together()
    for number in range(1, 5):
        assert pending.forward(answer(number))
        pending.release()
    assert numbers(pending) == []

    pending.answer(Stop.TIMEOUT, "over 3 s")

    assert numbers(pending) == [1, 2, 3, 4, 5]


def test_held_answers_do_not_wait_for_long_runs(monkeypatch: pytest.MonkeyPatch) -> None:
    pending = together()
    assert pending.forward(answer(1))

    monkeypatch.setattr(pending_runs, "HOLD_S", 0.0)
    pending.release()

    assert numbers(pending) == [1]


def test_held_answers_are_discarded_with_the_runs() -> None:
    pending = together()
    assert pending.forward(answer(1))

    pending.clear()
    pending.add(request(6), BatchSettings("a", "scip", LIMITS))
    assert pending.forward(answer(6))

    assert numbers(pending) == [6]
