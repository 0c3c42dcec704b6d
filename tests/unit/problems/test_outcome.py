"""The three axes of an outcome, the verdict, and the label in reports."""

from __future__ import annotations

from itertools import product

import pytest

from cagematch.problems.outcome import DECIDED, Answer, Asked, Known, Outcome, Stop, Task, Verdict, Word, verdict, word

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
        (solve(SOLUTION, holds=True), Word.SOLVED),
        (solve(NONE), Word.NO_SOLUTION),
        (solve(UNKNOWN), Word.GAVE_UP),
        (solve(SOLUTION, holds=True, stop=TIMEOUT), Word.TIMEOUT),
        (found(Task.UNIQUE, 1, complete=True), Word.UNIQUE),
        (found(Task.UNIQUE, 2, complete=False), Word.SEVERAL),
        (found(Task.UNIQUE, 2, complete=True), Word.SEVERAL),
        (found(Task.UNIQUE, 1, complete=False), Word.GAVE_UP),
        (found(Task.UNIQUE, 1, complete=False, stop=TIMEOUT), Word.TIMEOUT),
        (none(Task.UNIQUE), Word.NO_SOLUTION),
        (found(Task.COUNT, 12, complete=True), Word.COUNTED),
        (found(Task.COUNT, 12, complete=False), Word.OVER_BOUND),
        (found(Task.COUNT, 12, complete=False, stop=TIMEOUT), Word.TIMEOUT),
        (repair(2), Word.REPAIRED),
        (repair(2, complete=False), Word.GAVE_UP),
        (repair(2, complete=False, stop=TIMEOUT), Word.TIMEOUT),
    ],
)
def test_the_label_depends_on_stop_before_answer(outcome, expected):
    """The label depends on the stop first and on the answer second; a wrong verdict overrides both."""
    assert word(outcome, verdict(outcome)) is expected
    assert word(outcome, WRONG) is Word.WRONG


def test_every_combination_has_a_label():
    for task, answer, stop, complete, judged in product(Task, Answer, Stop, (None, False, True), Verdict):
        assert word(Outcome(task, answer, stop, complete=complete), judged) in Word


def test_labels_are_ordered_by_severity():
    assert list(Word)[:2] == [Word.WRONG, Word.ERROR]
    assert list(Word)[-1] is Word.SOLVED
    assert {w for w in Word if w not in DECIDED} == {Word.GAVE_UP, Word.WRONG} | {
        Word(stop.value) for stop in Stop if stop is not FINISHED
    }
