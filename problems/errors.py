"""Every error that Cagematch raises on purpose.

::

    CagematchError
    ├── InputError              the user's input is wrong; exit code 2
    │   ├── PuzzleError         a text is no puzzle of its kind
    │   │   └── Contradiction   a value is given twice where it may stand once
    │   ├── FileError           a puzzle file cannot be read; holds every fault found
    │   ├── ConfigurationError  no such backend, parameter, value or group
    │   └── LookupFailed        no such batch, set, run or puzzle
    ├── ServiceError            a database or a broker is not what is needed; exit code 2
    │   └── SchemaError         the database is newer, older or somebody else's
    ├── UnknownStatus           a solver said something that its table does not list
    └── SandboxError            a keeper or a sandbox broke in a way that is ours
"""

from __future__ import annotations

from dataclasses import dataclass


class CagematchError(Exception):
    """The root of the tree above."""


class InputError(CagematchError):
    """What the user gave is wrong. The message says what was found and what was expected."""


class PuzzleError(InputError):
    """A text is no puzzle of its kind.

    ``offset`` is the index of the offending character in the text, or ``None`` when the text as a
    whole is at fault.
    """

    def __init__(self, message: str, offset: int | None = None) -> None:
        super().__init__(message)
        self.offset = offset


class Contradiction(PuzzleError):
    """A value is given twice where it may stand once: no puzzle to solve, but one to repair. ``text`` is canonical."""

    def __init__(self, message: str, offset: int | None, text: str) -> None:
        super().__init__(message, offset)
        self.text = text


@dataclass(frozen=True, slots=True)
class Fault:
    """One thing wrong in a file: where (1-based line and column) and what."""

    file: str
    line: int
    column: int | None
    message: str

    def __str__(self) -> str:
        place = f"{self.file}:{self.line}" + (f":{self.column}" if self.column else "")
        return f"{place}: {self.message}"


class FileError(InputError):
    """A puzzle file cannot be taken. ``faults`` holds the first ten, ``total`` counts them all."""

    SHOWN = 10

    def __init__(self, faults: list[Fault], total: int | None = None) -> None:
        self.faults = faults[: self.SHOWN]
        self.total = len(faults) if total is None else total
        lines = [str(fault) for fault in self.faults]
        if self.total > len(self.faults):
            lines.append(f"… and {self.total - len(self.faults)} more")
        super().__init__("\n".join(lines))


class ConfigurationError(InputError):
    """A configuration names something that does not exist; the message lists what does."""


class LookupFailed(InputError):
    """Nothing stored goes by that name or number."""


class ServiceError(CagematchError):
    """A database or broker is missing, unreachable or unsuitable."""


class SchemaError(ServiceError):
    """The database is of another version than the program, or not Cagematch's at all."""


class UnknownStatus(CagematchError):
    """A solver returned a status that its backend's ``STATUS`` table does not list."""

    def __init__(self, backend: str, native: object) -> None:
        super().__init__(f"{backend} returned a status that is not in its table: {native!r}")


class SandboxError(CagematchError):
    """A keeper or sandbox failed for a reason that is no property of the solver."""


def first_line(error: BaseException | str) -> str:
    """The first line of an error's message; the error's type where the message is empty."""
    return str(error).strip().partition("\n")[0] or type(error).__name__
