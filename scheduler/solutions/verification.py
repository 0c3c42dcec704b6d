"""Solutions checked against their puzzles: by the rules themselves, and by a solver's model of them.

The rules are those that verify every run; no solver has a part in it. A solver that is asked besides gets the puzzle
with each variable given: a model that refuses what obeys the rules, or takes what breaks them, has a fault.
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

LIMIT_S = 60.0  # nothing is left to search; what takes longer is told as no answer
SHOWN = 3  # reasons of a solution that is wrong


class Said(StrEnum):
    """What a solver says of a solution. It is not asked about values that neither variables nor givens let stand."""

    ACCEPTS = "accepts"
    REFUSES = "refuses"
    CHANGES = "changes"
    NOT_ASKED = "not asked"
    NO_ANSWER = "no answer"


@dataclass(frozen=True, slots=True)
class Judgement:
    """Why a claim is wrong, if it is; what a solver said, if one was to be asked, and more about that."""

    claim: Claim
    reasons: list[str]
    said: Said | None = None
    detail: str = ""

    @property
    def right(self) -> bool:
        """Whether the solution obeys the rules and has what the puzzle gives."""
        return not self.reasons

    @property
    def fine(self) -> bool:
        """Whether there is nothing to complain of: it is right, and the solver, if one was asked, says so, too."""
        return self.right and self.said in (None, Said.ACCEPTS)

    @property
    def agreed(self) -> bool | None:
        """Whether the solver says the same as the rules; None where it said nothing."""
        if self.said in (None, Said.NOT_ASKED, Said.NO_ANSWER):
            return None
        return self.said is (Said.ACCEPTS if self.right else Said.REFUSES)


def require_handled(configuration: Configuration, claims: Claims) -> None:
    """Raise InputError for the first puzzle with a constraint that the configuration's backend cannot handle."""
    handled = backend_named(configuration.backend).HANDLES
    for claim in claims.found:
        if lacking := {type(c).__name__ for c in claim.problem.constraints if not isinstance(c, handled)}:
            has = f"which this puzzle of kind {claim.kind} has"
            message = f"{configuration.backend} cannot handle {', '.join(sorted(lacking))}, {has}"
            raise FileError([Fault(claims.source.shown, claim.line, None, message)])


def judgements(claims: Claims, configuration: Configuration | None = None) -> Iterator[Judgement]:
    """Judge every claim of a file; ask a configuration, too, where there is one."""
    for claim in claims.found:
        problem = claim.problem
        try:
            assignment = assignment_of(claim, problem)
        except PuzzleError as error:
            yield Judgement(claim, [str(error)], Said.NOT_ASKED if configuration else None)
            continue
        name = partial(KINDS[claim.kind].name, claim.puzzle)
        reasons = [] if problem.is_solution(assignment) else list(problem.violations(assignment, name))
        asked = _ask(configuration, problem, assignment) if configuration else (None, "")
        yield Judgement(claim, reasons, *asked)


def _ask(configuration: Configuration, problem: Problem, assignment: Sequence[int]) -> tuple[Said, str]:
    """Have the configuration solve the puzzle with every variable given."""
    if not all(map(contains, problem.values, assignment)):
        return Said.NOT_ASKED, ""
    measured = measure(configuration, Problem(problem.rules, tuple(enumerate(assignment))), 0, LIMIT_S)
    if measured.answer is Answer.SOLUTION and measured.assignment != list(assignment):
        return Said.CHANGES, ""
    if measured.answer is Answer.UNKNOWN or measured.stop is not Stop.FINISHED:
        stopped = "gave up" if measured.stop is Stop.FINISHED else measured.stop.value
        return Said.NO_ANSWER, ": ".join([stopped, *measured.detail.strip().splitlines()[-1:]])
    return (Said.ACCEPTS if measured.answer is Answer.SOLUTION else Said.REFUSES), ""


def told(claims: Claims, judgement: Judgement, by: str | None) -> str:
    """A judgement for people: the place, right or wrong, a few reasons, and what there is to say of the solver."""
    claim, reasons = judgement.claim, judgement.reasons
    label = f" ({claim.label})" if claim.label else ""
    more = [f"… and {len(reasons) - SHOWN} more"] if len(reasons) > SHOWN else []
    verdict = "right" if judgement.right else "wrong"
    lines = [f"{claims.source.shown}:{claim.line}{label}: {verdict}", *reasons[:SHOWN], *more]
    if judgement.agreed is False:
        lines.append(f"DISAGREEMENT: {by} {judgement.said} it")
    if judgement.said is Said.NO_ANSWER:
        lines.append(f"{by} gives no answer: {judgement.detail}")
    return "\n    ".join(lines)


def summary(claims: Claims, judged: Sequence[Judgement], by: str | None) -> str:
    """``hard.txt: 95 of 95 solutions are right``, and what else there is to say of a file."""
    right = sum(judgement.right for judgement in judged)
    are = "solution is" if len(judged) == 1 else "solutions are"
    line = f"{claims.source.shown}: {right:,} of {len(judged):,} {are} right"
    if by is not None:
        asked = [judgement.agreed for judgement in judged if judgement.said is not Said.NOT_ASKED]
        line += f"; {by} agrees on {asked.count(True):,} of {len(asked):,}"
        line += f" and DISAGREES on {asked.count(False):,}" if False in asked else ""
    if claims.without:
        puzzles = "puzzle" if claims.without == 1 else "puzzles"
        line += f" ({claims.without:,} {puzzles} without a solution passed over)"
    return line


def as_object(claims: Claims, judgement: Judgement, by: str | None) -> dict[str, Any]:
    """A judgement for programs."""
    claim = judgement.claim
    said = {"configuration": by, "said": judgement.said, "agrees": judgement.agreed, "detail": judgement.detail}
    return {
        "file": claims.source.shown,
        "line": claim.line,
        "label": claim.label,
        "kind": claim.kind,
        "right": judgement.right,
        "reasons": judgement.reasons,
        "by": said if by is not None else None,
    }
