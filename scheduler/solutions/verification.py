"""Verification of solutions: by the rules of the puzzle, and optionally by the model of a solver.

The rules are the same that verify every run, and use no solver. A solver gets the puzzle with the solution as clues.
If it rejects a correct solution or accepts a wrong one, its model is wrong.
"""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from enum import StrEnum
from functools import partial
from operator import contains
from typing import Any

from cagematch.problems.errors import Fault, FileError, PuzzleError
from cagematch.problems.kinds import KINDS
from cagematch.problems.outcome import Answer, Stop
from cagematch.problems.problem import Problem
from cagematch.scheduler.solutions.claims import Claim, Claims, assignment_of
from cagematch.workers.backends import load as backend_named
from cagematch.workers.configurations import Configuration
from cagematch.workers.sandbox.solving import measure

LIMIT_S = 60.0  # timeout of a solver, although there is nothing to search
SHOWN = 3  # reasons per wrong solution


class Response(StrEnum):
    """The response of a solver to a solution. It is not asked about values outside the domains or against the clues."""

    ACCEPTS = "accepts"
    REJECTS = "rejects"
    CHANGES = "changes"
    NOT_ASKED = "not asked"
    NO_ANSWER = "no answer"


@dataclass(frozen=True, slots=True)
class Judgement:
    """The judgement of one claim.

    Parameters
    ----------
    reasons
        Why the solution is wrong; empty for a correct one.
    response
        The response of the solver; None without a solver.
    detail
        Why the solver gave no answer.
    """

    claim: Claim
    reasons: list[str]
    response: Response | None = None
    detail: str = ""

    @property
    def correct(self) -> bool:
        """Whether the solution obeys the rules and keeps the clues."""
        return not self.reasons

    @property
    def fine(self) -> bool:
        """Whether the solution is correct and the solver, if there is one, accepts it."""
        return self.correct and self.response in (None, Response.ACCEPTS)

    @property
    def agreed(self) -> bool | None:
        """Whether the solver agrees with the rules; None if it gave no answer."""
        if self.response in (None, Response.NOT_ASKED, Response.NO_ANSWER):
            return None
        return self.response is (Response.ACCEPTS if self.correct else Response.REJECTS)


def require_handled(configuration: Configuration, claims: Claims) -> None:
    """Check that a backend supports the constraints of all puzzles.

    Raises
    ------
    FileError
        The backend does not support a constraint; the error names the first puzzle with it.
    """
    handled = backend_named(configuration.backend).HANDLES
    for claim in claims.found:
        if missing := {type(c).__name__ for c in claim.problem.constraints if not isinstance(c, handled)}:
            names = ", ".join(sorted(missing))
            message = f"{configuration.backend} does not support {names}, which this puzzle of kind {claim.kind} needs"
            raise FileError([Fault(claims.source.shown, claim.line, None, message)])


def judgements(claims: Claims, configuration: Configuration | None = None) -> Iterator[Judgement]:
    """Yield the judgement of each claim; with a configuration, also the response of its solver."""
    for claim in claims.found:
        problem = claim.problem
        try:
            assignment = assignment_of(claim, problem)
        except PuzzleError as error:
            yield Judgement(claim, [str(error)], Response.NOT_ASKED if configuration else None)
            continue
        name = partial(KINDS[claim.kind].name, claim.puzzle)
        reasons = [] if problem.is_solution(assignment) else list(problem.violations(assignment, name))
        response = _ask(configuration, problem, assignment) if configuration else (None, "")
        yield Judgement(claim, reasons, *response)


def _ask(configuration: Configuration, problem: Problem, assignment: Sequence[int]) -> tuple[Response, str]:
    """Let the configuration solve the puzzle with every variable given."""
    if not all(map(contains, problem.values, assignment)):
        return Response.NOT_ASKED, ""
    measured = measure(configuration, Problem(problem.rules, tuple(enumerate(assignment))), 0, LIMIT_S)
    if measured.answer is Answer.SOLUTION and measured.assignment != list(assignment):
        return Response.CHANGES, ""
    if measured.answer is Answer.UNKNOWN or measured.stop is not Stop.FINISHED:
        stopped = "gave up" if measured.stop is Stop.FINISHED else measured.stop.value
        return Response.NO_ANSWER, ": ".join([stopped, *measured.detail.strip().splitlines()[-1:]])
    return (Response.ACCEPTS if measured.answer is Answer.SOLUTION else Response.REJECTS), ""


def description(claims: Claims, judgement: Judgement, by: str | None) -> str:
    """Describe a judgement: the place, the verdict, the first reasons, and the response of the solver ``by``."""
    claim, reasons = judgement.claim, judgement.reasons
    label = f" ({claim.label})" if claim.label else ""
    more = [f"… and {len(reasons) - SHOWN} more"] if len(reasons) > SHOWN else []
    verdict = "correct" if judgement.correct else "wrong"
    lines = [f"{claims.source.shown}:{claim.line}{label}: {verdict}", *reasons[:SHOWN], *more]
    if judgement.agreed is False:
        lines.append(f"DISAGREEMENT: {by} {judgement.response} it")
    if judgement.response is Response.NO_ANSWER:
        lines.append(f"{by} gives no answer: {judgement.detail}")
    return "\n    ".join(lines)


def summary(claims: Claims, judged: Sequence[Judgement], by: str | None) -> str:
    """Summarise a file: ``hard.txt: 95 of 95 solutions are correct``, and how often the solver ``by`` agrees."""
    correct = sum(judgement.correct for judgement in judged)
    are = "solution is" if len(judged) == 1 else "solutions are"
    line = f"{claims.source.shown}: {correct:,} of {len(judged):,} {are} correct"
    if by is not None:
        agreed = [judgement.agreed for judgement in judged if judgement.response is not Response.NOT_ASKED]
        line += f"; {by} agrees on {agreed.count(True):,} of {len(agreed):,}"
        line += f" and DISAGREES on {agreed.count(False):,}" if False in agreed else ""
    if claims.without:
        puzzles = "puzzle" if claims.without == 1 else "puzzles"
        line += f" (skipped {claims.without:,} {puzzles} without a solution)"
    return line


def as_object(claims: Claims, judgement: Judgement, by: str | None) -> dict[str, Any]:
    """Return a judgement as JSON data; ``by``: the configuration of the solver."""
    claim = judgement.claim
    response = {
        "configuration": by,
        "response": judgement.response,
        "agrees": judgement.agreed,
        "detail": judgement.detail,
    }
    return {
        "file": claims.source.shown,
        "line": claim.line,
        "label": claim.label,
        "kind": claim.kind,
        "correct": judgement.correct,
        "reasons": judgement.reasons,
        "by": response if by is not None else None,
    }
