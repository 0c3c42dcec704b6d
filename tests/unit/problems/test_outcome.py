"""The three axes of an outcome, the verdict, and the label in reports."""

from __future__ import annotations

from itertools import product

import pytest

from cagematch.problems.outcome import (
    DECIDED,
    Answer,
    Asked,
    Known,
    Outcome,
    Status,
    Stop,
    Task,
    Verdict,
    status_of,
    verdict,
)

SOLUTION, NONE, UNKNOWN = Answer
FINISHED, TIMEOUT = Stop.FINISHED, Stop.TIMEOUT
CORRECT, WRONG, UNCHECKED = Verdict
ONE, TWO, TWELVE = Known(solutions=1), Known(solutions=2), Known(solutions=12)
REPAIRED = Known(fewest=2)  # a verified repair has two changes


def solve(answer: Answer, *, holds: bool | None = None, stop: Stop = FINISHED) -> Outcome:
    return Outcome(Task.SOLVE, answer, stop, holds)


def found(task: Task, count: int, *, complete: bool, holds: bool = True, stop: Stop = FINISHED) -> Outcome:
    return Outcome(task, SOLUTION, stop, holds, count, complete)


def repair(changes: int, *, complete: bool = True, holds: bool = True, stop: Stop = FINISHED) -> Outcome:
    return Outcome(Task.REPAIR, SOLUTION, stop, holds, None, complete, changes)


def none(task: Task) -> Outcome:
    return Outcome(task, NONE, FINISHED, None, 0 if Asked(task).enumerates else None, complete=True)


@pytest.mark.parametrize(
    ("outcome", "known", "expected"),
    [
        (solve(SOLUTION, holds=True), Known(), CORRECT),
        (solve(SOLUTION, holds=False), ONE, WRONG),
        (solve(SOLUTION), Known(), WRONG),
        (none(Task.SOLVE), Known(), UNCHECKED),
        (none(Task.SOLVE), ONE, WRONG),
        (solve(UNKNOWN), ONE, UNCHECKED),
        # A uniqueness claim is refuted by two solutions, and cannot be confirmed.
        (found(Task.UNIQUE, 1, complete=True), ONE, UNCHECKED),
        (found(Task.UNIQUE, 1, complete=True), TWO, WRONG),
        (found(Task.UNIQUE, 1, complete=False), TWO, CORRECT),
        (found(Task.UNIQUE, 2, complete=False), TWO, CORRECT),
        (found(Task.UNIQUE, 2, complete=False, holds=False), TWO, WRONG),
        (none(Task.UNIQUE), ONE, WRONG),
        (none(Task.UNIQUE), Known(), UNCHECKED),
        (found(Task.COUNT, 11, complete=True), TWELVE, WRONG),
        (found(Task.COUNT, 12, complete=True), TWELVE, UNCHECKED),
        (found(Task.COUNT, 11, complete=False), TWELVE, CORRECT),
        (found(Task.COUNT, 13, complete=True), TWELVE, UNCHECKED),
        (found(Task.COUNT, 13, complete=True, holds=False), Known(), WRONG),
        (none(Task.COUNT), TWELVE, WRONG),
        # A minimality claim is refuted by a repair with fewer changes; a solution has none.
        (repair(2), REPAIRED, UNCHECKED),
        (repair(3), REPAIRED, WRONG),
        (repair(3, complete=False), REPAIRED, CORRECT),
        (repair(1), ONE, WRONG),
        (repair(0), ONE, CORRECT),
        (repair(2, holds=False), Known(), WRONG),
        (none(Task.REPAIR), REPAIRED, WRONG),
        (none(Task.REPAIR), ONE, WRONG),
        (none(Task.REPAIR), Known(), UNCHECKED),
        # Repairs with changes are not solutions of the unchanged puzzle.
        (none(Task.SOLVE), REPAIRED, UNCHECKED),
        (found(Task.UNIQUE, 1, complete=True), REPAIRED, UNCHECKED),
    ],
)
def test_the_verdict_combines_verification_and_other_runs(outcome, known, expected):
    assert verdict(outcome, known) is expected


@pytest.mark.parametrize(
    ("outcome", "expected"),
    [
        (solve(SOLUTION, holds=True), Status.SOLVED),
        (solve(NONE), Status.NO_SOLUTION),
        (solve(UNKNOWN), Status.GAVE_UP),
        (solve(SOLUTION, holds=True, stop=TIMEOUT), Status.TIMEOUT),
        (found(Task.UNIQUE, 1, complete=True), Status.UNIQUE),
        (found(Task.UNIQUE, 2, complete=False), Status.SEVERAL),
        (found(Task.UNIQUE, 2, complete=True), Status.SEVERAL),
        (found(Task.UNIQUE, 1, complete=False), Status.GAVE_UP),
        (found(Task.UNIQUE, 1, complete=False, stop=TIMEOUT), Status.TIMEOUT),
        (none(Task.UNIQUE), Status.NO_SOLUTION),
        (found(Task.COUNT, 12, complete=True), Status.COUNTED),
        (found(Task.COUNT, 12, complete=False), Status.OVER_BOUND),
        (found(Task.COUNT, 12, complete=False, stop=TIMEOUT), Status.TIMEOUT),
        (repair(2), Status.REPAIRED),
        (repair(2, complete=False), Status.GAVE_UP),
        (repair(2, complete=False, stop=TIMEOUT), Status.TIMEOUT),
    ],
)
def test_the_status_depends_on_stop_before_answer(outcome, expected):
    """The status depends on the stop first and on the answer second; a wrong verdict overrides both."""
    assert status_of(outcome, verdict(outcome)) is expected
    assert status_of(outcome, WRONG) is Status.WRONG


def test_every_combination_has_a_label():
    for task, answer, stop, complete, judged in product(Task, Answer, Stop, (None, False, True), Verdict):
        assert status_of(Outcome(task, answer, stop, complete=complete), judged) in Status


def test_labels_are_ordered_by_severity():
    assert list(Status)[:2] == [Status.WRONG, Status.ERROR]
    assert list(Status)[-1] is Status.SOLVED
    assert {w for w in Status if w not in DECIDED} == {Status.GAVE_UP, Status.WRONG} | {
        Status(stop.value) for stop in Stop if stop is not FINISHED
    }
