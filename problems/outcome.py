"""What came of a run, on three separate axes that are never folded into one."""

from __future__ import annotations

from enum import StrEnum


class Task(StrEnum):
    """What is asked about a puzzle."""

    SOLVE = "solve"


class Answer(StrEnum):
    """What the solver said about the puzzle."""

    SOLUTION = "solution"
    NONE = "none"
    UNKNOWN = "unknown"


class Stop(StrEnum):
    """Why the run ended."""

    FINISHED = "finished"
    TIMEOUT = "timeout"
    MEMOUT = "memout"
    CRASHED = "crashed"
    UNSUPPORTED = "unsupported"
    ERROR = "error"


class Verdict(StrEnum):
    """Whether the answer was right. Derived when asked, as later runs can change it."""

    CORRECT = "correct"
    WRONG = "wrong"
    UNCHECKED = "unchecked"


class Word(StrEnum):
    """The one word that reports show, the loudest first."""

    WRONG = "wrong"
    ERROR = "error"
    CRASHED = "crashed"
    MEMOUT = "memout"
    TIMEOUT = "timeout"
    GAVE_UP = "gave up"
    UNSUPPORTED = "unsupported"
    NO_SOLUTION = "no solution"
    SOLVED = "solved"


def verdict(answer: Answer, *, holds: bool | None, solvable: bool) -> Verdict:
    """Judge an answer.

    ``holds``: whether the solution obeyed every constraint (``None`` when there was none to check).
    ``solvable``: whether anybody has a verified solution of the same puzzle.
    """
    if answer is Answer.SOLUTION:
        return Verdict.CORRECT if holds else Verdict.WRONG
    if answer is Answer.NONE and solvable:
        return Verdict.WRONG
    return Verdict.UNCHECKED


def word(answer: Answer, stop: Stop, judged: Verdict) -> Word:
    """The word for the three axes together. A wrong answer is wrong whenever it came."""
    if judged is Verdict.WRONG:
        return Word.WRONG
    if stop is not Stop.FINISHED:
        return Word(stop.value)
    finished = {Answer.SOLUTION: Word.SOLVED, Answer.NONE: Word.NO_SOLUTION, Answer.UNKNOWN: Word.GAVE_UP}
    return finished[answer]
