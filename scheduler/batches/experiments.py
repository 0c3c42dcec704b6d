"""A whole comparison in one file, to be submitted as it is, kept beside a paper, and made again from a batch.

::

    name = "strategies"
    puzzles = ["hard", { file = "mine/first.txt", kind = "sudoku", sha256 = "9f86d0…" }]
    solvers = ["@core", "legacy-cp:var=*"]
    timeout = "3s"
    repeat = 5
    permute = true

Every key but ``puzzles`` is an option of ``scheduler submit`` and means what it means there. Files are looked for
beside the experiment's and must stay below its folder; a word that is no file there is a shipped set. ``sha256`` is of
a set as it was stored: a file that holds other puzzles now is told.
"""

from __future__ import annotations

import json
import re
import tomllib
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any, NamedTuple

from sqlalchemy import Connection, select

from cagematch.models import Batch, BatchConfiguration, BatchSet, PuzzleSet, StoredConfiguration
from cagematch.problems.errors import Fault, FileError, InputError
from cagematch.problems.outcome import Task
from cagematch.scheduler.batches.bounds import LARGEST_SEED, MOST_SOLUTIONS, PRIORITIES
from cagematch.scheduler.readers.source import shipped_sets

SUFFIX = ".toml"
LARGEST = 1 << 20  # bytes: somebody else's file is not to fill the memory


class Option(NamedTuple):
    """An option of `submit` that may stand in a file: what it is, and of a number the least and the most."""

    kind: type
    least: int = 0
    most: int = 2**31 - 1

    def takes(self, value: Any) -> bool:
        """Whether a value is one of the option's."""
        if type(value) is not self.kind:
            return False
        return not isinstance(value, int) or self.least <= value <= self.most

    def __str__(self) -> str:
        if self.kind is int:
            return f"a whole number from {self.least} to {self.most}"
        return "a text" if self.kind is str else "true or false"


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
class Listed:
    """A file of puzzles that an experiment names: how to find it, and what it is said to be."""

    file: str
    kind: str | None = None
    format: str | None = None
    sha256: str | None = None


@dataclass(frozen=True, slots=True)
class Experiment:
    """What a file asks for; ``options`` has what it says of `OPTIONS`."""

    puzzles: list[Listed]
    solvers: list[str]
    options: dict[str, Any] = field(default_factory=dict)


def read(path: Path) -> Experiment:
    """Read an experiment's file. Raises FileError, with every fault in it."""
    text = _text(path)
    told = _parsed(path, text)
    faults = [(key, f"no key of an experiment; there are: {', '.join(KEYS)}") for key in told if key not in KEYS]
    options = {name: told[name] for name in OPTIONS if name in told}
    wrong = {name: value for name, value in options.items() if not OPTIONS[name].takes(value)}
    faults += [(name, f"found {value!r}, expected {OPTIONS[name]}") for name, value in wrong.items()]
    if "task" in options and "task" not in wrong and options["task"] not in list(Task):
        faults.append(("task", f"found {options['task']!r}, expected one of {', '.join(Task)}"))
    if "bound" in options and options.get("task") != Task.COUNT:
        faults.append(("bound", 'found without task = "count", of which alone it is the bound'))
    solvers = told.get("solvers", [])
    if not _words(solvers) or ("solvers" in told and not solvers):
        faults.append(("solvers", f"found {solvers!r}, expected a list of configurations"))
    puzzles, misplaced = _listed(told.get("puzzles"), path.parent)
    faults += [("puzzles", fault) for fault in misplaced]
    if faults:
        raise FileError([Fault(str(path), _line(text, key), None, f"{key}: {fault}") for key, fault in faults])
    return Experiment(puzzles, solvers, options)


def _text(path: Path) -> str:
    try:
        if path.stat().st_size > LARGEST:
            raise InputError(f"{path} has more than {LARGEST:,} bytes, expected an experiment")
        return path.read_text(encoding="utf-8")
    except OSError as error:
        raise InputError(f"{path} cannot be read: {error.strerror}") from None
    except UnicodeDecodeError as error:
        raise InputError(f"{path} is not UTF-8 at byte {error.start}, expected TOML") from None


def _parsed(path: Path, text: str) -> dict[str, Any]:
    try:
        return tomllib.loads(text)
    except tomllib.TOMLDecodeError as error:
        found = PLACE.fullmatch(str(error))
        what = found[1] if found else str(error)
        line = int(found[2]) if found and found[2] else text.count("\n") + 1
        column = int(found[3]) if found and found[3] else None
        raise FileError([Fault(str(path), line, column, f"no TOML: {what}")]) from None


def _line(text: str, key: str) -> int:
    """Where a key stands in the file; its first line when it is not there, or not as people write it."""
    found = re.search(rf"^\s*[\"']?{re.escape(key)}[\"']?\s*=", text, re.MULTILINE)
    return text.count("\n", 0, found.end()) + 1 if found else 1


def _listed(told: Any, folder: Path) -> tuple[list[Listed], list[str]]:
    """The files that an experiment names, and what is wrong with them."""
    if not isinstance(told, list) or not told:
        return [], [f"{'missing' if told is None else f'found {told!r}'}, expected a list of files or shipped sets"]
    found, faults, names = [], [], Listed.__dataclass_fields__
    for each in told:
        entry = {"file": each} if isinstance(each, str) else each
        fits = isinstance(entry, dict) and "file" in entry and entry.keys() <= names.keys()
        if not fits or not _words(list(entry.values())):
            faults.append(f"found {each!r}, expected a file's name, or a table of texts with {', '.join(names)}")
            continue
        word, fault = _below(entry["file"], folder)
        found.append(Listed(**entry | {"file": word}))
        faults += [fault] if fault else []
    return found, faults


def _below(word: str, folder: Path) -> tuple[str, str]:
    """A file below the folder, or the name of a shipped set: an experiment is somebody else's, maybe. Or a fault."""
    path = folder / word
    inside = path.resolve().is_relative_to(folder.resolve())
    if inside and path.exists():
        return str(path), ""
    if word in shipped_sets():
        return word, ""
    where = "no file in the experiment's folder" if inside else "not below the experiment's folder"
    return word, f"found {word!r}, which is {where}, and no shipped set"


def _words(told: Any) -> bool:
    return isinstance(told, list) and all(isinstance(word, str) and word for word in told)


def write(connection: Connection, batch_id: int, folder: Path) -> tuple[str, list[str]]:
    """The file of a batch, to stand in a folder, and which of its puzzle files are not below that, or are none."""
    sets, lacking = [], []
    for name, source, digest in _sets(connection, batch_id):
        word = name if source == f"{name} (shipped)" else _relative(source, folder)
        sets.append(f"{{ file = {_toml(word or source)}, sha256 = {_toml(digest)} }}")
        lacking += [] if word else [source]
    return _written(connection, batch_id, sets), lacking


def _relative(source: str, folder: Path) -> str | None:
    """How a file is named from the folder; None where it is not below, or not there any more."""
    path, here = Path(source).resolve(), folder.resolve()
    return str(path.relative_to(here)) if path.is_file() and path.is_relative_to(here) else None


def _written(connection: Connection, batch_id: int, sets: list[str]) -> str:
    batch = connection.execute(select(Batch.__table__).where(Batch.id == batch_id)).one()
    lines = [f"# Batch {batch_id}, made by Cagematch {batch.versions.get('cagematch', '?')}."]
    lines += [f"name = {_toml(batch.name)}"] if batch.name else []
    lines += ["puzzles = [", *(f"  {one}," for one in sets), "]"]
    lines += ["solvers = [", *(f"  {_toml(text)}," for text in _texts(connection, batch_id)), "]"]
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


def _texts(connection: Connection, batch_id: int) -> list[str]:
    query = select(StoredConfiguration.text).join(
        BatchConfiguration, BatchConfiguration.configuration_id == StoredConfiguration.id
    )
    position = BatchConfiguration.position
    return list(connection.scalars(query.where(BatchConfiguration.batch_id == batch_id).order_by(position)))


def _toml(value: Any) -> str:
    """A value as TOML writes it: JSON's texts, whole numbers and truths are TOML's, but for the delete character."""
    return json.dumps(value, ensure_ascii=False).replace("\x7f", "\\u007f")
