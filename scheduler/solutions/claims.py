"""What a file claims: puzzles, and a solution for each, as the values of its variables."""

from __future__ import annotations

from collections.abc import Iterator
from contextlib import suppress
from dataclasses import dataclass
from operator import contains

from cagematch.problems.errors import Fault, FileError, InputError, PuzzleError
from cagematch.problems.kinds import KINDS, kind_named
from cagematch.problems.problem import Problem
from cagematch.problems.wording import few
from cagematch.scheduler.readers import solutions
from cagematch.scheduler.readers.entries import DEFAULT_KIND, Misread
from cagematch.scheduler.readers.solutions import Pair
from cagematch.scheduler.readers.source import Source, lines_of

LONGEST = 9  # digits of a value


@dataclass(frozen=True, slots=True)
class Claim:
    """A puzzle, as its canonical text, and what somebody says is its solution, in parts as the file has them."""

    line: int
    label: str
    kind: str
    puzzle: str
    solution: tuple[str, ...]
    repairs: bool = False

    @property
    def problem(self) -> Problem:
        """The puzzle's rules and givens; of one that is repaired, the rules alone."""
        problem = KINDS[self.kind].problem(self.puzzle)
        return Problem(problem.rules) if self.repairs else problem


@dataclass(frozen=True, slots=True)
class Claims:
    """What a file claims, and how many puzzles it has without a solution."""

    source: Source
    found: list[Claim]
    without: int


def load(source: Source, asked: str | None) -> Claims:
    """Read a whole file. Raises FileError, naming up to ten faults; InputError where there is no solution at all."""
    content = lines_of(source)
    told = solutions.kind(content)
    kind = told.kind if told else asked or DEFAULT_KIND
    claims = [_claim(pair, kind, asked) for pair in solutions.read(content)]
    if faults := [Fault(source.shown, *claim) for claim in claims if isinstance(claim, Misread)]:
        raise FileError(faults)
    found = [claim for claim in claims if isinstance(claim, Claim)]
    if not found:
        raise InputError(f"{source.shown} holds no solution" + (f", but {len(claims):,} puzzles" if claims else ""))
    return Claims(source, found, len(claims) - len(found))


def _claim(pair: Pair | Misread, kind: str, asked: str | None) -> Claim | Misread | None:
    """What a line claims; None where it has a puzzle only."""
    if isinstance(pair, Misread):
        return pair
    if not pair.solution:
        return None
    kind = pair.kind or kind
    if asked not in (None, kind):
        return Misread(pair.line, None, f"the puzzle is of kind {kind}, and --kind says {asked}")
    try:
        claim = Claim(pair.line, pair.label, kind, kind_named(kind).parse(pair.puzzle), pair.solution, pair.repairs)
    except PuzzleError as error:
        return None if pair.doubtful else Misread(*pair.place(error.offset), str(error))
    except InputError as error:
        return Misread(pair.line, None, str(error))
    a_count = pair.doubtful and len(pair.solution[0]) != len(claim.problem.rules.domains)
    return None if a_count else claim


def assignment_of(claim: Claim, problem: Problem) -> tuple[int, ...]:
    """The values of a solution; PuzzleError, in words for people, where its form does not give one to each variable."""
    domains = problem.rules.domains
    if len(claim.solution) == len(domains) and all(map(_is_number, claim.solution)):
        return tuple(map(int, claim.solution))
    read = list(_readings(claim))
    if not read:
        raise PuzzleError(f"{_shown(claim)} is no solution of the kind {claim.kind}")
    fitting = [(told, values) for told, values in read if len(values) == len(domains)]
    if not fitting:
        raise _misfit(claim, *read[0], len(domains))
    for _, values in fitting:
        if all(map(contains, domains, values)):
            return values
    return _known(claim, problem, *fitting[0])


def _readings(claim: Claim) -> Iterator[tuple[str, tuple[int, ...]]]:
    """What the parts of a solution mean one after another, or with dots between; letters may be small ones."""
    kind = KINDS[claim.kind]
    whole = "".join(claim.solution)
    for told in dict.fromkeys((whole, ".".join(claim.solution), whole.upper())):
        with suppress(ValueError, LookupError):
            yield told, tuple(kind.assignment(claim.puzzle, told))


def _known(claim: Claim, problem: Problem, told: str, values: tuple[int, ...]) -> tuple[int, ...]:
    """The values, if each stands for something that people call a value; else PuzzleError with what stands there."""
    if len(told) == len(values):
        for variable, allowed in enumerate(problem.rules.domains):
            if values[variable] not in allowed:
                where = KINDS[claim.kind].name(claim.puzzle, variable)
                raise PuzzleError(f"{where} is {told[variable]!r}, not one of {few(allowed)}")
    return values


def _misfit(claim: Claim, told: str, values: tuple[int, ...], expected: int) -> PuzzleError:
    if len(told) == len(values):
        return PuzzleError(f"the solution has {len(told):,} characters, expected {expected:,}")
    if len(values) < expected:
        return PuzzleError(f"the solution ends before {KINDS[claim.kind].name(claim.puzzle, len(values))}")
    return PuzzleError(f"{_shown(claim)} has more values than the puzzle")


def _is_number(part: str) -> bool:
    return part.isascii() and part.isdigit() and len(part) <= LONGEST


def _shown(claim: Claim, most: int = 20) -> str:
    whole = " ".join(claim.solution)
    return repr(whole[:most] + "…" * (len(whole) > most))
