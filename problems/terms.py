"""The closed vocabularies of a run: its task, its answer, why it stopped, its verdict and its status.

They are apart from `problems.outcome` so that a keeper, which needs no more, starts without the module dataclasses.
"""

from __future__ import annotations

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
    """Whether the answer is right. Derived for each report, because later runs can change it."""

    CORRECT = "correct"
    WRONG = "wrong"
    UNCHECKED = "unchecked"


class Status(StrEnum):
    """The status of a run in reports, the most severe first."""

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
