"""Tasks, and the outcome of a run on three separate axes: answer, stop and verdict."""

from __future__ import annotations

from dataclasses import dataclass
from enum import StrEnum


class Task(StrEnum):
    """What a solver is to do with a puzzle.

    ``solve``: find a solution. ``unique``: check whether there is exactly one. ``count``: count the solutions.
    ``repair``: find a solution of the rules that changes as few givens as possible.
    """

    SOLVE = "solve"
    UNIQUE = "unique"
    COUNT = "count"
    REPAIR = "repair"


@dataclass(frozen=True, slots=True)
class Asked:
    """A task, and for `Task.COUNT` the number of solutions at which counting ends."""

    task: Task = Task.SOLVE
    bound: int = 2

    @property
    def enumerates(self) -> bool:
        """Whether the task requires more than one solution; `Task.UNIQUE` requires up to two."""
        return self.task in (Task.UNIQUE, Task.COUNT)


SOLVING = Asked()


class Answer(StrEnum):
    """The solver's answer to the puzzle."""

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
    """Whether the answer is correct. Derived for each report, because later runs can change it."""

    CORRECT = "correct"
    WRONG = "wrong"
    UNCHECKED = "unchecked"


class Word(StrEnum):
    """The label of a run in reports, the most severe first."""

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


# The labels of a completed task; any other label is a failure.
DECIDED = frozenset(list(Word)[list(Word).index(Word.NO_SOLUTION) :])


@dataclass(frozen=True, slots=True)
class Outcome:
    """The stored outcome of a run.

    Parameters
    ----------
    task, answer, stop
        The task, the solver's answer and why the run ended.
    holds
        Whether every solution found obeys all constraints and no two are equal; None if there is no solution.
    count
        The number of solutions found, for `Task.UNIQUE` and `Task.COUNT`.
    complete
        Whether the solver claims that there are no more solutions; for `Task.REPAIR`, that no repair
        changes fewer givens.
    changes
        The number of givens that a repair changes.
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
    """What verified runs have shown about a puzzle.

    Parameters
    ----------
    solutions
        The number of different verified solutions: a lower bound.
    fewest
        The smallest number of changes in a verified repair; None without a repair. A solution is a
        repair with no changes.
    """

    solutions: int = 0
    fewest: int | None = None


NOTHING_KNOWN = Known()


def verdict(outcome: Outcome, known: Known = NOTHING_KNOWN) -> Verdict:
    """Judge an outcome against what is known about the puzzle.

    The claim that there are no more solutions, or no smaller repair, can be refuted but not confirmed.
    """
    if outcome.answer is Answer.SOLUTION and not outcome.holds:
        return Verdict.WRONG
    if _refuted(outcome, known):
        return Verdict.WRONG
    claims = outcome.complete and outcome.changes != 0
    return Verdict.CORRECT if outcome.answer is Answer.SOLUTION and not claims else Verdict.UNCHECKED


def _refuted(outcome: Outcome, known: Known) -> bool:
    fewest = 0 if known.solutions else known.fewest
    if outcome.task is Task.REPAIR:
        worse = outcome.complete and fewest is not None and outcome.changes is not None and outcome.changes > fewest
        return bool(worse) or (outcome.answer is Answer.NONE and fewest is not None)
    claimed = 0 if outcome.answer is Answer.NONE else outcome.count if outcome.complete else None
    return claimed is not None and claimed < known.solutions


def word(outcome: Outcome, judged: Verdict) -> Word:
    """Return the label of a run. A wrong answer is labelled wrong even if it came after the limit."""
    if judged is Verdict.WRONG:
        return Word.WRONG
    if outcome.stop is not Stop.FINISHED:
        return Word(outcome.stop.value)
    if outcome.answer is Answer.SOLUTION:
        return _label_of_solution(outcome)
    return Word.NO_SOLUTION if outcome.answer is Answer.NONE else Word.GAVE_UP


def _label_of_solution(outcome: Outcome) -> Word:
    if outcome.task is Task.SOLVE:
        return Word.SOLVED
    if outcome.task is Task.UNIQUE and (outcome.count or 0) > 1:
        return Word.SEVERAL
    complete, bounded = {
        Task.UNIQUE: (Word.UNIQUE, Word.GAVE_UP),
        Task.COUNT: (Word.COUNTED, Word.OVER_BOUND),
        Task.REPAIR: (Word.REPAIRED, Word.GAVE_UP),
    }[outcome.task]
    return complete if outcome.complete else bounded
