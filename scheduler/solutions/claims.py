"""The claims of a file: puzzles, each with a solution, and the values of that solution."""

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
from cagematch.scheduler.readers.solutions import PuzzleWithSolution
from cagematch.scheduler.readers.source import Source, lines_of

LONGEST = 9  # digits of a value


@dataclass(frozen=True, slots=True)
class Claim:
    """A puzzle and its claimed solution.

    Parameters
    ----------
    puzzle
        The canonical text of the puzzle.
    solution
        The parts of the solution, as in the file.
    repairs
        Whether the solution may change the clues.
    """

    line: int
    label: str
    kind: str
    puzzle: str
    solution: tuple[str, ...]
    repairs: bool = False

    @property
    def problem(self) -> Problem:
        """The rules of the puzzle with its clues, or for a repair without them."""
        problem = KINDS[self.kind].problem(self.puzzle)
        return Problem(problem.rules) if self.repairs else problem


@dataclass(frozen=True, slots=True)
class Claims:
    """The claims of a file, and the number of its puzzles without a solution."""

    source: Source
    found: list[Claim]
    without: int


def load(source: Source, option: str | None) -> Claims:
    """Read the claims of a whole file.

    Parameters
    ----------
    option
        The kind of puzzle, for a file that does not declare one. ``None`` is the default kind.

    Raises
    ------
    FileError
        The file has faults; the error lists up to ten of them.
    InputError
        The file cannot be read, or contains no solution.
    """
    content = lines_of(source)
    declared = solutions.kind(content)
    kind = declared.kind if declared else option or DEFAULT_KIND
    claims = [_claim(entry, kind, option) for entry in solutions.read(content)]
    if faults := [Fault(source.shown, *claim) for claim in claims if isinstance(claim, Misread)]:
        raise FileError(faults)
    found = [claim for claim in claims if isinstance(claim, Claim)]
    if not found:
        puzzles = f"{len(claims):,} puzzle{'s' * (len(claims) != 1)} and " if claims else ""
        raise InputError(f"{source.shown} contains {puzzles}no solution, expected a solution for each puzzle")
    return Claims(source, found, len(claims) - len(found))


def _claim(entry: PuzzleWithSolution | Misread, kind: str, option: str | None) -> Claim | Misread | None:
    """Return the claim of an entry; None for a puzzle without a solution."""
    if isinstance(entry, Misread):
        return entry
    if not entry.solution:
        return None
    kind = entry.kind or kind
    if option not in (None, kind):
        return Misread(entry.line, None, f"the puzzle is of kind {kind}, but --kind is {option}; remove --kind")
    try:
        text = kind_named(kind).parse(entry.puzzle)
    except PuzzleError as error:
        return None if entry.doubtful else Misread(*entry.place(error.offset), str(error))
    except InputError as error:
        return Misread(entry.line, None, str(error))
    claim = Claim(entry.line, entry.label, kind, text, entry.solution, entry.repairs)
    is_count = entry.doubtful and len(entry.solution[0]) != len(claim.problem.rules.domains)
    return None if is_count else claim


def assignment_of(claim: Claim, problem: Problem) -> tuple[int, ...]:
    """Return the values of a solution, one per variable.

    Raises
    ------
    PuzzleError
        The solution does not have a value for each variable.
    """
    domains = problem.rules.domains
    if len(claim.solution) == len(domains) and all(map(_is_number, claim.solution)):
        return tuple(map(int, claim.solution))
    readings = list(_readings(claim))
    if not readings:
        raise PuzzleError(f"{_shown(claim)} is not a solution of the kind {claim.kind}")
    fitting = [(text, values) for text, values in readings if len(values) == len(domains)]
    if not fitting:
        raise _wrong_length(claim, *readings[0], len(domains))
    for _, values in fitting:
        if all(map(contains, domains, values)):
            return values
    return _checked(claim, problem, *fitting[0])


def _readings(claim: Claim) -> Iterator[tuple[str, tuple[int, ...]]]:
    """Yield the ways to read a solution: its parts joined, joined with dots, or in upper case."""
    kind = KINDS[claim.kind]
    whole = "".join(claim.solution)
    for text in dict.fromkeys((whole, ".".join(claim.solution), whole.upper())):
        with suppress(ValueError, LookupError):
            yield text, tuple(kind.assignment(claim.puzzle, text))


def _checked(claim: Claim, problem: Problem, text: str, values: tuple[int, ...]) -> tuple[int, ...]:
    """Return the values; raise PuzzleError for the first character that is no value of its variable."""
    if len(text) == len(values):
        for variable, allowed in enumerate(problem.rules.domains):
            if values[variable] not in allowed:
                where = KINDS[claim.kind].name(claim.puzzle, variable)
                raise PuzzleError(f"{where} is {text[variable]!r}, expected one of {few(allowed)}")
    return values


def _wrong_length(claim: Claim, text: str, values: tuple[int, ...], expected: int) -> PuzzleError:
    if len(text) == len(values):
        return PuzzleError(f"the solution has {len(text):,} characters, expected {expected:,}")
    if len(values) < expected:
        return PuzzleError(f"the solution ends before {KINDS[claim.kind].name(claim.puzzle, len(values))}")
    return PuzzleError(f"{_shown(claim)} has more values than the puzzle, expected one per cell")


def _is_number(part: str) -> bool:
    return part.isascii() and part.isdigit() and len(part) <= LONGEST


def _shown(claim: Claim, most: int = 20) -> str:
    whole = " ".join(claim.solution)
    return repr(whole[:most] + "…" * (len(whole) > most))
