"""The three axes of an outcome, and the one word that reports make of them."""

from __future__ import annotations

from itertools import product

import pytest

from problems.outcome import Answer, Stop, Verdict, Word, verdict, word


@pytest.mark.parametrize(
    ("answer", "holds", "solvable", "expected"),
    [
        (Answer.SOLUTION, True, True, Verdict.CORRECT),
        (Answer.SOLUTION, True, False, Verdict.CORRECT),
        (Answer.SOLUTION, False, True, Verdict.WRONG),
        (Answer.SOLUTION, None, False, Verdict.WRONG),
        (Answer.NONE, None, True, Verdict.WRONG),
        (Answer.NONE, None, False, Verdict.UNCHECKED),
        (Answer.UNKNOWN, None, True, Verdict.UNCHECKED),
        (Answer.UNKNOWN, None, False, Verdict.UNCHECKED),
    ],
)
def test_a_verdict_follows_from_the_check_and_from_what_others_found(answer, holds, solvable, expected):
    assert verdict(answer, holds=holds, solvable=solvable) is expected


@pytest.mark.parametrize(
    ("answer", "stop", "judged", "expected"),
    [
        (Answer.SOLUTION, Stop.FINISHED, Verdict.CORRECT, Word.SOLVED),
        (Answer.NONE, Stop.FINISHED, Verdict.UNCHECKED, Word.NO_SOLUTION),
        (Answer.UNKNOWN, Stop.FINISHED, Verdict.UNCHECKED, Word.GAVE_UP),
        (Answer.SOLUTION, Stop.TIMEOUT, Verdict.CORRECT, Word.TIMEOUT),
        (Answer.SOLUTION, Stop.TIMEOUT, Verdict.WRONG, Word.WRONG),
        (Answer.NONE, Stop.FINISHED, Verdict.WRONG, Word.WRONG),
    ],
)
def test_a_word_is_wrong_first_then_why_it_stopped_then_what_was_found(answer, stop, judged, expected):
    assert word(answer, stop, judged) is expected


def test_every_combination_has_a_word():
    for answer, stop, judged in product(Answer, Stop, Verdict):
        assert word(answer, stop, judged) in Word


def test_words_come_loudest_first():
    assert list(Word)[:2] == [Word.WRONG, Word.ERROR]
    assert list(Word)[-1] is Word.SOLVED
