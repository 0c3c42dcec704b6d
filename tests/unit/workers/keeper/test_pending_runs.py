"""The docket: every run is answered once, in order."""

from __future__ import annotations

import json
from typing import Any

import pytest

from cagematch.workers.keeper import pending_runs as dockets
from cagematch.workers.keeper.pending_runs import RETRIES, PendingRuns
from cagematch.workers.messages.framing import encode


@pytest.fixture
def docket() -> PendingRuns:
    made = PendingRuns()
    made.add([{"n": n, "family": family} for n, family in enumerate("aabba", start=1)])
    return made


def told(docket: PendingRuns) -> list[dict[str, Any]]:
    return [json.loads(line) for line in docket.outbox.splitlines()]


def test_runs_go_out_by_family_and_again_after_a_recall(docket: PendingRuns) -> None:
    assert [run["n"] for run in docket.hand_out()] == [1, 2]
    assert list(docket.hand_out()) == []

    assert docket.pass_on(encode({"n": 1, "answer": "none"}).rstrip())
    docket.recall()

    assert [run["n"] for run in docket.hand_out()] == [2]


def test_only_the_answer_that_is_due_is_passed_on(docket: PendingRuns) -> None:
    for line in (b"rubbish", b'{"n":2,"answer":"none"}', b'{"n":11,', b""):
        assert not docket.pass_on(line)
    assert docket.pass_on(b'{"n":1,"answer":"none"}')

    assert told(docket) == [{"n": 1, "answer": "none"}]
    assert docket.due == 2


def test_a_run_that_is_disturbed_is_repeated_and_then_an_error(docket: PendingRuns) -> None:
    for _ in range(RETRIES):
        docket.disturb("the run was suspended")
        assert docket.due == 1
    docket.disturb("the run was suspended")

    (answer,) = told(docket)
    assert (answer["n"], answer["stop"], answer["detail"]) == (1, "error", "the run was suspended, 3 times")
    assert docket.due == 2


def test_an_empty_docket_is_not_disturbed() -> None:
    docket = PendingRuns()

    docket.disturb("nothing")

    assert (len(docket), docket.due, told(docket)) == (0, 0, [])


def test_answers_that_go_together_are_held_until_the_last(docket: PendingRuns) -> None:
    docket.add([], together=True)
    for number in range(1, 5):
        assert docket.pass_on(encode({"n": number, "answer": "none"}).rstrip())
        docket.release()
    assert told(docket) == []

    docket.answer("timeout", "over 3 s")

    assert [answer["n"] for answer in told(docket)] == [1, 2, 3, 4, 5]


def test_an_answer_waits_for_no_long_run(docket: PendingRuns, monkeypatch: pytest.MonkeyPatch) -> None:
    docket.add([], together=True)
    assert docket.pass_on(encode({"n": 1, "answer": "none"}).rstrip())

    monkeypatch.setattr(dockets, "HOLD_S", 0.0)
    docket.release()

    assert told(docket) == [{"n": 1, "answer": "none"}]


def test_what_is_held_is_forgotten_with_the_runs(docket: PendingRuns) -> None:
    docket.add([], together=True)
    assert docket.pass_on(encode({"n": 1, "answer": "none"}).rstrip())

    docket.clear()
    docket.add([{"n": 6, "family": "a"}])
    assert docket.pass_on(encode({"n": 6, "answer": "none"}).rstrip())

    assert [answer["n"] for answer in told(docket)] == [6]
