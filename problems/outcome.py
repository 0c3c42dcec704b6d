"""Tasks, and the outcome of a run on three separate axes: answer, stop and verdict."""

from __future__ import annotations

from dataclasses import dataclass

from cagematch.problems.terms import Answer, Status, Stop, Task, Verdict

__all__ = [
    "DECIDED",
    "NOTHING_KNOWN",
    "SOLVING",
    "Answer",
    "Asked",
    "Known",
    "Outcome",
    "Status",
    "Stop",
    "Task",
    "Verdict",
    "status_of",
    "verdict",
]


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


# The statuses of a completed task; any other status is a failure.
DECIDED = frozenset(list(Status)[list(Status).index(Status.NO_SOLUTION) :])


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


def status_of(outcome: Outcome, judged: Verdict) -> Status:
    """Return the status of a run. The status of a wrong answer is wrong even if it came after the limit."""
    if judged is Verdict.WRONG:
        return Status.WRONG
    if outcome.stop is not Stop.FINISHED:
        return Status(outcome.stop.value)
    if outcome.answer is Answer.SOLUTION:
        return _status_of_solution(outcome)
    return Status.NO_SOLUTION if outcome.answer is Answer.NONE else Status.GAVE_UP


def _status_of_solution(outcome: Outcome) -> Status:
    if outcome.task is Task.SOLVE:
        return Status.SOLVED
    if outcome.task is Task.UNIQUE and (outcome.count or 0) > 1:
        return Status.SEVERAL
    complete, bounded = {
        Task.UNIQUE: (Status.UNIQUE, Status.GAVE_UP),
        Task.COUNT: (Status.COUNTED, Status.OVER_BOUND),
        Task.REPAIR: (Status.REPAIRED, Status.GAVE_UP),
    }[outcome.task]
    return complete if outcome.complete else bounded
