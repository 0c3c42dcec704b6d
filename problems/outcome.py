"""What is asked about a puzzle, and what came of a run, on three separate axes that are never folded into one."""

from __future__ import annotations

from dataclasses import dataclass
from enum import StrEnum


class Task(StrEnum):
    """What is asked about a puzzle: a solution; whether it has just one; how many; how little would mend it."""

    SOLVE = "solve"
    UNIQUE = "unique"
    COUNT = "count"
    REPAIR = "repair"


@dataclass(frozen=True, slots=True)
class Asked:
    """A task, and for `Task.COUNT` the most solutions that are looked for."""

    task: Task = Task.SOLVE
    bound: int = 2

    @property
    def enumerates(self) -> bool:
        """Whether more solutions than one are looked for; of `Task.UNIQUE` two will do."""
        return self.task in (Task.UNIQUE, Task.COUNT)


SOLVING = Asked()


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
    SEVERAL = "several"
    OVER_BOUND = "over bound"
    UNIQUE = "unique"
    COUNTED = "counted"
    REPAIRED = "repaired"
    SOLVED = "solved"


# What a task comes to when all goes well; any other word is a failure.
DECIDED = frozenset(list(Word)[list(Word).index(Word.NO_SOLUTION) :])


@dataclass(frozen=True, slots=True)
class Outcome:
    """What is stored of a run.

    ``holds``: whether what it found obeyed every constraint, and differed where it said so; None: nothing to check.
    ``count``: the solutions found, of `Task.UNIQUE` and `Task.COUNT`. ``complete``: whether the solver says that there
    are no more than those, or of `Task.REPAIR` that no fewer changes would do. ``changes``: of a repair.
    """

    task: Task
    answer: Answer
    stop: Stop
    holds: bool | None = None
    count: int | None = None
    complete: bool | None = None
    changes: int | None = None


@dataclass(frozen=True, slots=True)
class Known:
    """What anybody has shown of a puzzle: how many verified solutions it has at least, the fewest changes of a repair.

    A solution is a repair that changes nothing.
    """

    solutions: int = 0
    fewest: int | None = None


NOTHING_KNOWN = Known()


def verdict(told: Outcome, known: Known = NOTHING_KNOWN) -> Verdict:
    """Judge an outcome. A claim that there is no more, or no better, can be refuted but not be checked."""
    if told.answer is Answer.SOLUTION and not told.holds:
        return Verdict.WRONG
    if _refuted(told, known):
        return Verdict.WRONG
    claims = told.complete and told.changes != 0
    return Verdict.CORRECT if told.answer is Answer.SOLUTION and not claims else Verdict.UNCHECKED


def _refuted(told: Outcome, known: Known) -> bool:
    fewest = 0 if known.solutions else known.fewest
    if told.task is Task.REPAIR:
        worse = told.complete and fewest is not None and told.changes is not None and told.changes > fewest
        return bool(worse) or (told.answer is Answer.NONE and fewest is not None)
    least = 0 if told.answer is Answer.NONE else told.count if told.complete else None
    return least is not None and least < known.solutions


def word(told: Outcome, judged: Verdict) -> Word:
    """The word for the three axes together. A wrong answer is wrong whenever it came."""
    if judged is Verdict.WRONG:
        return Word.WRONG
    if told.stop is not Stop.FINISHED:
        return Word(told.stop.value)
    if told.answer is Answer.SOLUTION:
        return _found(told)
    return Word.NO_SOLUTION if told.answer is Answer.NONE else Word.GAVE_UP


def _found(told: Outcome) -> Word:
    if told.task is Task.SOLVE:
        return Word.SOLVED
    if told.task is Task.UNIQUE and (told.count or 0) > 1:
        return Word.SEVERAL
    complete, bounded = {
        Task.UNIQUE: (Word.UNIQUE, Word.GAVE_UP),
        Task.COUNT: (Word.COUNTED, Word.OVER_BOUND),
        Task.REPAIR: (Word.REPAIRED, Word.GAVE_UP),
    }[told.task]
    return complete if told.complete else bounded
