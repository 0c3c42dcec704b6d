"""Every error that Cagematch raises deliberately.

::

    CagematchError
    ├── InputError              invalid user input; exit code 2
    │   ├── PuzzleError         a text is not a valid puzzle of its kind
    │   │   └── Contradiction   two givens of a unit have the same value
    │   ├── FileError           a puzzle file has faults; lists them
    │   ├── ConfigurationError  an unknown backend, preset, group or parameter, or an invalid value
    │   └── LookupFailed        an unknown batch, set, run or puzzle
    ├── ServiceError            a database or broker is missing, unreachable or unsuitable; exit code 2
    │   └── SchemaError         the database has another schema version, or belongs to another program
    ├── UnknownStatus           a solver returned a status that its backend does not list
    └── SandboxError            a keeper or sandbox failed, and not because of a solver
"""

from __future__ import annotations

from typing import NamedTuple


class CagematchError(Exception):
    """The base class of all errors above."""


class InputError(CagematchError):
    """Invalid user input. The message states what was found, what was expected and what to do."""


class PuzzleError(InputError):
    """A text is not a valid puzzle of its kind.

    Parameters
    ----------
    message
        What was found and what was expected.
    offset
        Index (from 0) of the invalid character in the text; None if the fault has no single place.
    """

    def __init__(self, message: str, offset: int | None = None) -> None:
        super().__init__(message)
        self.offset = offset


class Contradiction(PuzzleError):
    """Two givens of a unit have the same value: the puzzle has no solution, but it can be repaired.

    Parameters
    ----------
    message, offset
        As for `PuzzleError`.
    text
        The canonical text of the puzzle, contradiction included.
    """

    def __init__(self, message: str, offset: int | None, text: str) -> None:
        super().__init__(message, offset)
        self.text = text


class Fault(NamedTuple):
    """One fault in a file: its place (line and column from 1) and a message."""

    file: str
    line: int
    column: int | None
    message: str

    def __str__(self) -> str:
        place = f"{self.file}:{self.line}" + (f":{self.column}" if self.column else "")
        return f"{place}: {self.message}"


class FileError(InputError):
    """A puzzle file has faults, and none of its puzzles were stored.

    Parameters
    ----------
    faults
        The faults in the order of the file; the first ten are kept and shown.
    total
        The number of all faults; by default the length of ``faults``.
    """

    SHOWN = 10

    def __init__(self, faults: list[Fault], total: int | None = None) -> None:
        self.faults = faults[: self.SHOWN]
        self.total = len(faults) if total is None else total
        lines = [str(fault) for fault in self.faults]
        if self.total > len(self.faults):
            lines.append(f"… and {self.total - len(self.faults)} more")
        super().__init__("\n".join(lines))


class ConfigurationError(InputError):
    """A configuration has an unknown name or an invalid value. The message lists the valid ones."""


class LookupFailed(InputError):
    """A stored object with the given name or number does not exist."""


class ServiceError(CagematchError):
    """A database or broker is missing, unreachable or unsuitable."""


class SchemaError(ServiceError):
    """The schema of the database has another version than the program requires, or is not Cagematch's."""


class UnknownStatus(CagematchError):
    """A solver returned a status that its backend's ``STATUS`` table does not list.

    Parameters
    ----------
    backend
        The backend's name.
    native
        The status as the library returned it.
    """

    def __init__(self, backend: str, native: object) -> None:
        super().__init__(f"{backend} returned status {native!r}, which is not in its STATUS table")


class SandboxError(CagematchError):
    """A keeper or sandbox failed for a reason that is unrelated to the solver."""


def first_line(error: BaseException | str) -> str:
    """Return the first line of an error's message, or the type of the error if the message is empty."""
    return str(error).strip().partition("\n")[0] or type(error).__name__
