"""Experiment files: a batch as a TOML file, which `submit` runs and `export` writes.

::

    name = "strategies"
    puzzles = ["hard", { file = "mine/first.txt", kind = "sudoku", sha256 = "9f86d0…" }]
    solvers = ["@core", "legacy-cp:var=*"]
    timeout = "3s"
    repeat = 5
    permute = true

Every key except ``puzzles`` is an option of ``scheduler submit`` with the same meaning. Puzzle files must be below the
folder of the experiment file; any other name refers to a shipped set. ``sha256`` is the digest of the stored set:
`submit` warns if the file contains other puzzles now.
"""

from __future__ import annotations

import json
import re
import tomllib
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any, NamedTuple

from sqlalchemy import Connection, select

from cagematch.models import Batch, BatchConfiguration, BatchSet, PuzzleSet
from cagematch.problems.errors import Fault, FileError, InputError
from cagematch.problems.outcome import Task
from cagematch.scheduler.batches.bounds import LARGEST_SEED, MOST_SOLUTIONS, PRIORITIES
from cagematch.scheduler.batches.lookup import configuration_texts
from cagematch.scheduler.readers.source import shipped_sets

SUFFIX = ".toml"
LARGEST = 1 << 20  # bytes: an untrusted file must not fill the memory


class Option(NamedTuple):
    """An option of `submit` that an experiment file can set: its type, and the bounds of a number."""

    kind: type
    least: int = 0
    most: int = 2**31 - 1

    def accepts(self, value: Any) -> bool:
        """Whether the option can have a value."""
        if type(value) is not self.kind:
            return False
        return not isinstance(value, int) or self.least <= value <= self.most

    def __str__(self) -> str:
        if self.kind is int:
            return f"an integer from {self.least} to {self.most}"
        return "a string" if self.kind is str else "true or false"


OPTIONS = {
    "name": Option(str),
    "task": Option(str),
    "bound": Option(int, 1, MOST_SOLUTIONS),
    "timeout": Option(str),
    "memory": Option(str),
    "repeat": Option(int, 1),
    "seed": Option(int, 0, LARGEST_SEED),
    "permute": Option(bool),
    "limit": Option(int),
    "priority": Option(int, *PRIORITIES),
}
KEYS = ("puzzles", "solvers", *OPTIONS)
PLACE = re.compile(r"(.*) \(at (?:line (\d+), column (\d+)|end of document)\)", re.DOTALL)


@dataclass(frozen=True, slots=True)
class PuzzleFile:
    """A puzzle file of an experiment.

    Parameters
    ----------
    file
        The path of the file, or the name of a shipped set.
    sha256
        The digest of the set as stored; ``None`` skips the check.
    """

    file: str
    kind: str | None = None
    format: str | None = None
    sha256: str | None = None


@dataclass(frozen=True, slots=True)
class Experiment:
    """The contents of an experiment file; ``options`` has a value for each of `OPTIONS` that the file sets."""

    puzzles: list[PuzzleFile]
    solvers: list[str]
    options: dict[str, Any] = field(default_factory=dict)


def read(path: Path) -> Experiment:
    """Read an experiment file.

    Raises
    ------
    FileError
        The file is not TOML, or has invalid keys or values; the error lists them all.
    InputError
        The file cannot be read, is too large, or is not UTF-8.
    """
    text = _text(path)
    table = _parsed(path, text)
    faults = [(key, f"unknown key, expected one of {', '.join(KEYS)}") for key in table if key not in KEYS]
    options = {name: table[name] for name in OPTIONS if name in table}
    wrong = {name: value for name, value in options.items() if not OPTIONS[name].accepts(value)}
    faults += [(name, f"found {value!r}, expected {OPTIONS[name]}") for name, value in wrong.items()]
    if "task" in options and "task" not in wrong and options["task"] not in list(Task):
        faults.append(("task", f"found {options['task']!r}, expected one of {', '.join(Task)}"))
    if "bound" in options and options.get("task") != Task.COUNT:
        faults.append(("bound", 'found without task = "count", the only task with a bound'))
    solvers = table.get("solvers", [])
    if not _are_words(solvers) or ("solvers" in table and not solvers):
        faults.append(("solvers", f"found {solvers!r}, expected a list of configurations"))
    puzzles, invalid = _puzzle_files(table.get("puzzles"), path.parent)
    faults += [("puzzles", fault) for fault in invalid]
    if faults:
        raise FileError([Fault(str(path), _line(text, key), None, f"{key}: {fault}") for key, fault in faults])
    return Experiment(puzzles, solvers, options)


def _text(path: Path) -> str:
    try:
        if path.stat().st_size > LARGEST:
            raise InputError(f"{path} is larger than {LARGEST:,} bytes, expected an experiment file")
        return path.read_text(encoding="utf-8")
    except OSError as error:
        raise InputError(f"{path} cannot be read: {error.strerror}") from None
    except UnicodeDecodeError as error:
        raise InputError(f"{path} is not UTF-8 at byte {error.start}, expected TOML in UTF-8") from None


def _parsed(path: Path, text: str) -> dict[str, Any]:
    try:
        return tomllib.loads(text)
    except tomllib.TOMLDecodeError as error:
        found = PLACE.fullmatch(str(error))
        what = found[1] if found else str(error)
        line = int(found[2]) if found and found[2] else text.count("\n") + 1
        column = int(found[3]) if found and found[3] else None
        raise FileError([Fault(str(path), line, column, f"invalid TOML: {what}")]) from None


def _line(text: str, key: str) -> int:
    """Return the line of a key; 1 if the key is missing or written in an unusual form."""
    found = re.search(rf"^\s*[\"']?{re.escape(key)}[\"']?\s*=", text, re.MULTILINE)
    return text.count("\n", 0, found.end()) + 1 if found else 1


def _puzzle_files(value: Any, folder: Path) -> tuple[list[PuzzleFile], list[str]]:
    """Return the puzzle files of an experiment, and the faults in the list."""
    if not isinstance(value, list) or not value:
        return [], [f"{'missing' if value is None else f'found {value!r}'}, expected a list of files or shipped sets"]
    found, faults, names = [], [], PuzzleFile.__dataclass_fields__
    for each in value:
        entry = {"file": each} if isinstance(each, str) else each
        fits = isinstance(entry, dict) and "file" in entry and entry.keys() <= names.keys()
        if not fits or not _are_words(list(entry.values())):
            faults.append(f"found {each!r}, expected a file name, or a table of strings with {', '.join(names)}")
            continue
        word, fault = _below(entry["file"], folder)
        found.append(PuzzleFile(**entry | {"file": word}))
        faults += [fault] if fault else []
    return found, faults


def _below(word: str, folder: Path) -> tuple[str, str]:
    """Resolve a file below the folder, or a shipped set; else return a fault. An experiment file is untrusted."""
    path = folder / word
    inside = path.resolve().is_relative_to(folder.resolve())
    if inside and path.exists():
        return str(path), ""
    if word in shipped_sets():
        return word, ""
    problem = "does not exist in" if inside else "is not below"
    return word, f"{word!r} {problem} the folder of the experiment, expected a file there or a shipped set"


def _are_words(value: Any) -> bool:
    return isinstance(value, list) and all(isinstance(word, str) and word for word in value)


def write(connection: Connection, batch_id: int, folder: Path) -> tuple[str, list[str]]:
    """Write a batch as an experiment file.

    Parameters
    ----------
    folder
        The folder that the file is for; paths are relative to it.

    Returns
    -------
    text : str
        The contents of the file.
    missing : list of str
        The puzzle files that are not below the folder, or no longer exist.
    """
    sets, missing = [], []
    for name, source, digest in _sets(connection, batch_id):
        word = name if source == f"{name} (shipped)" else _relative(source, folder)
        sets.append(f"{{ file = {_toml(word or source)}, sha256 = {_toml(digest)} }}")
        missing += [] if word else [source]
    return _written(connection, batch_id, sets), missing


def _relative(source: str, folder: Path) -> str | None:
    """Return the path of a file relative to the folder; None if it is not below it, or no longer exists."""
    path, here = Path(source).resolve(), folder.resolve()
    return str(path.relative_to(here)) if path.is_file() and path.is_relative_to(here) else None


def _written(connection: Connection, batch_id: int, sets: list[str]) -> str:
    batch = connection.execute(select(Batch.__table__).where(Batch.id == batch_id)).one()
    lines = [f"# Batch {batch_id}, created by Cagematch {batch.versions.get('cagematch', '?')}."]
    lines += [f"name = {_toml(batch.name)}"] if batch.name else []
    lines += ["puzzles = [", *(f"  {one}," for one in sets), "]"]
    texts = connection.scalars(configuration_texts(batch_id).order_by(BatchConfiguration.position))
    lines += ["solvers = [", *(f"  {_toml(text)}," for text in texts), "]"]
    values: dict[str, Any] = {
        "task": batch.task,
        "bound": batch.bound,
        "timeout": f"{batch.timeout_s:g}s",
        "memory": f"{batch.memory_mib}MiB",
        "repeat": batch.repeats,
        "seed": batch.seed,
        "permute": batch.permuted,
        "limit": batch.taken,
        "priority": batch.priority or None,
    }
    lines += [f"{name} = {_toml(value)}" for name, value in values.items() if value is not None]
    return "\n".join(lines) + "\n"


def _sets(connection: Connection, batch_id: int) -> list[Any]:
    query = select(PuzzleSet.name, PuzzleSet.source, PuzzleSet.digest).join(BatchSet, BatchSet.set_id == PuzzleSet.id)
    return list(connection.execute(query.where(BatchSet.batch_id == batch_id).order_by(BatchSet.position)))


def _toml(value: Any) -> str:
    """Write a value as TOML. JSON strings, integers and booleans are valid TOML, except the delete character."""
    return json.dumps(value, ensure_ascii=False).replace("\x7f", "\\u007f")
