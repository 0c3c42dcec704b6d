"""Verification of answers: every solution is checked against the rules, whatever the solver claims."""

from __future__ import annotations

from cagematch.problems.outcome import Answer, Stop, Task
from cagematch.workers.messages.protocol import RunAnswer
from cagematch.workers.shards.verification import Verified, verify

EMPTY = "." * 16
FIRST = [1, 2, 3, 4, 3, 4, 1, 2, 2, 1, 4, 3, 4, 3, 2, 1]
SECOND = [2, 1, 3, 4, 3, 4, 2, 1, 1, 2, 4, 3, 4, 3, 1, 2]
WRONG = [1] * 16


def text(values: list[int]) -> str:
    return "".join(map(str, values))


def verified(task: Task, *found: list[int], puzzle: str = EMPTY) -> Verified:
    first, *more = found or (None,)
    answer = RunAnswer(
        1, Answer.SOLUTION, Stop.FINISHED, 0.1, assignment=first, more=more, count=len(found), complete=True
    )
    return verify(task, "sudoku", puzzle, answer)


def test_valid_solution() -> None:
    assert verified(Task.SOLVE, FIRST) == Verified(holds=True, solution=text(FIRST), verified=1)


def test_solution_that_breaks_a_rule() -> None:
    assert verified(Task.SOLVE, WRONG) == Verified(holds=False, solution=text(WRONG), verified=0)


def test_solution_that_changes_a_clue() -> None:
    found = verified(Task.SOLVE, FIRST, puzzle="2" + "." * 15)

    assert (found.holds, found.verified) == (False, 0)


def test_no_solution() -> None:
    assert verified(Task.SOLVE) == Verified()
    assert verified(Task.COUNT) == Verified(count=0, complete=True)


def test_two_solutions() -> None:
    found = verified(Task.UNIQUE, FIRST, SECOND)

    assert (found.holds, found.verified, found.count, found.complete) == (True, 2, 2, True)
    assert (found.solution, found.second) == (text(FIRST), text(SECOND))


def test_enumeration_with_a_wrong_solution() -> None:
    """One wrong solution among several makes the answer wrong."""
    for found in (verified(Task.COUNT, FIRST, WRONG), verified(Task.COUNT, WRONG, FIRST)):
        assert (found.holds, found.verified) == (False, 1)


def test_enumeration_with_a_repeated_solution() -> None:
    """A solution that is listed twice is counted once, and the answer is wrong."""
    found = verified(Task.UNIQUE, FIRST, FIRST)

    assert (found.holds, found.verified) == (False, 1)


def test_repair_counts_changes() -> None:
    found = verified(Task.REPAIR, FIRST, puzzle="22" + "." * 14)

    assert (found.holds, found.changes, found.verified) == (True, 1, 0)


def test_repair_that_breaks_a_rule() -> None:
    found = verified(Task.REPAIR, WRONG, puzzle="12" + "." * 14)

    assert (found.holds, found.changes) == (False, 1)
