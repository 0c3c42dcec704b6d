"""The description of one puzzle or one run, for ``scheduler show``."""

from __future__ import annotations

from contextlib import suppress
from typing import Any

from sqlalchemy import Connection, func, select

from cagematch.models import (
    Batch,
    Host,
    PuzzleSet,
    Run,
    SetEntry,
    StoredConfiguration,
    StoredPuzzle,
    StoredSize,
    Worker,
)
from cagematch.problems.errors import LookupFailed, PuzzleError
from cagematch.problems.kinds import KINDS
from cagematch.problems.outcome import Answer, Task
from cagematch.problems.problem import Puzzle
from cagematch.scheduler.reports.puzzles.drawing import differing, summarised
from cagematch.scheduler.reports.puzzles.repairs import changed

HEX = set("0123456789abcdef")
SHORTEST_PREFIX = 6  # digits
MOST_DIGITS = 12  # of a run's number; the text of the smallest puzzle has 16 characters
MOST_PLACES = 9  # digits of a position in a set


def describe(connection: Connection, what: str) -> str:
    """Describe a run or a puzzle as text.

    Parameters
    ----------
    what
        The number of a run, SET:N, the start of a fingerprint, or the text of a puzzle.

    Raises
    ------
    LookupFailed
        Nothing stored matches, or several puzzles do.
    """
    if what.isascii() and what.isdigit() and len(what) <= MOST_DIGITS:
        return _run(connection, int(what))
    return _puzzle(connection, find_puzzle(connection, what))


def puzzle_of(connection: Connection, what: str) -> tuple[Puzzle, bool]:
    """Find a puzzle by SET:N, the start of its fingerprint, or its text.

    Returns
    -------
    puzzle : Puzzle
        The puzzle.
    stored : bool
        Whether the database has it. A puzzle that is not stored can only be named by its text.

    Raises
    ------
    LookupFailed
        Nothing stored matches, and it is not the text of a puzzle.
    """
    try:
        row = find_puzzle(connection, what)
    except LookupFailed:
        for name, kind in KINDS.items():
            with suppress(PuzzleError):
                return Puzzle(name, kind.parse(what)), False
        raise
    return Puzzle(row.kind, row.text), True


def find_puzzle(connection: Connection, what: str) -> Any:
    """Find the row of a stored puzzle.

    Raises
    ------
    LookupFailed
        Nothing stored matches, or several puzzles do.
    """
    return (
        _in_set(connection, what) or _by_text(connection, what) or _by_fingerprint(connection, what) or _nothing(what)
    )


def _in_set(connection: Connection, what: str) -> Any:
    name, _, number = what.rpartition(":")
    if not name or not number.isascii() or not number.isdigit() or len(number) > MOST_PLACES:
        return None
    newest = select(func.max(PuzzleSet.id)).where(PuzzleSet.name == name, PuzzleSet.ready).scalar_subquery()
    return connection.execute(
        select(StoredPuzzle)
        .join(SetEntry, SetEntry.puzzle_id == StoredPuzzle.id)
        .where(SetEntry.set_id == newest, SetEntry.position == int(number) - 1)
    ).one_or_none()


def _by_text(connection: Connection, what: str) -> Any:
    for name, kind in KINDS.items():
        try:
            fingerprint = Puzzle(name, kind.parse(what)).fingerprint
        except PuzzleError:
            continue
        if found := connection.execute(
            select(StoredPuzzle).where(StoredPuzzle.fingerprint == fingerprint)
        ).one_or_none():
            return found
    return None


def _by_fingerprint(connection: Connection, what: str) -> Any:
    start = what.lower()
    if len(start) < SHORTEST_PREFIX or not set(start) <= HEX or len(start) > 64:
        return None
    low, high = bytes.fromhex(start.ljust(64, "0")), bytes.fromhex(start.ljust(64, "f"))
    found = connection.execute(select(StoredPuzzle).where(StoredPuzzle.fingerprint.between(low, high)).limit(2)).all()
    if len(found) > 1:
        raise LookupFailed(f"several fingerprints start with {what}, expected a longer start")
    return found[0] if found else None


def _nothing(what: str) -> Any:
    raise LookupFailed(
        f"nothing stored matches {what!r}, expected the number of a run, SET:N (a puzzle by its position in a set), "
        f"the start of a fingerprint ({SHORTEST_PREFIX} digits or more), or the text of a puzzle"
    )


def _puzzle(connection: Connection, puzzle: Any) -> str:
    kind = KINDS[puzzle.kind]
    sets = connection.execute(
        select(PuzzleSet.name, SetEntry.position, SetEntry.label)
        .join(SetEntry, SetEntry.set_id == PuzzleSet.id)
        .where(SetEntry.puzzle_id == puzzle.id, PuzzleSet.ready)
        .order_by(PuzzleSet.id)
    )
    places = [f"{name}:{position + 1}" + (f"  {label}" if label else "") for name, position, label in sets]
    lines = [f"{puzzle.kind} {puzzle.fingerprint.hex()[:12]}", *places, kind.render(puzzle.text)]
    solution = connection.scalar(
        select(Run.solution).where(Run.puzzle_id == puzzle.id, Run.holds.is_(True)).order_by(Run.id).limit(1)
    )
    if solution:
        lines += ["verified solution", kind.render(puzzle.text, kind.assignment(puzzle.text, solution))]
    else:
        lines.append("no verified solution is stored")
    return "\n".join([*lines, *_refuted(connection, puzzle.id)])


def _refuted(connection: Connection, puzzle_id: int) -> list[str]:
    """Name the configurations that claim that there is no solution."""
    texts = select(StoredConfiguration.text).join(Run, Run.configuration_id == StoredConfiguration.id)
    claimed = texts.where(Run.puzzle_id == puzzle_id, Run.answer == Answer.NONE).distinct()
    names = connection.scalars(claimed.order_by(StoredConfiguration.text)).all()
    claim = "configuration claims" if len(names) == 1 else "configurations claim"
    return [f"{len(names)} {claim} that there is no solution: {', '.join(names)}"] if names else []


def _run_row(connection: Connection, run_id: int) -> Any:
    row = connection.execute(
        select(
            Run,
            StoredPuzzle.kind,
            StoredPuzzle.text.label("puzzle"),
            StoredConfiguration.expanded,
            StoredConfiguration.text.label("configured"),
            Batch.task,
            Batch.bound,
        )
        .add_columns(Host.name.label("host"), StoredSize.variables, StoredSize.constraints)
        .join(Batch, Batch.id == Run.batch_id)
        .join(StoredPuzzle, StoredPuzzle.id == Run.puzzle_id)
        .join(StoredConfiguration, StoredConfiguration.id == Run.configuration_id)
        .join(Worker, Worker.id == Run.worker_id)
        .join(Host, Host.id == Worker.host_id)
        .outerjoin(StoredSize, StoredSize.id == Run.size_id)
        .where(Run.id == run_id)
    ).one_or_none()
    if row is None:
        raise LookupFailed(f"there is no run {run_id}; list the runs with `scheduler export -`")
    return row


def _run(connection: Connection, run_id: int) -> str:
    row = _run_row(connection, run_id)
    kind = KINDS[row.kind]
    solution = kind.assignment(row.puzzle, row.solution) if row.solution else None
    checks = {True: "satisfies every constraint", False: "VIOLATES a constraint", None: "nothing to verify"}
    full = f" ({row.expanded})" if row.expanded != row.configured else ""
    lines = [
        f"run {run_id}: {row.configured}{full}, batch {row.batch_id}, repeat {row.repeat}, seed {row.seed}",
        f"answer {row.answer}, stop {row.stop}; {checks[row.holds]}",
        *_task(row),
        f"wall {_ms(row.wall_s)} (build {_ms(row.build_s)}, solve {_ms(row.solve_s)}), CPU {_ms(row.cpu_s)}",
        f"memory baseline {_mib(row.baseline_mib)}, peak {_mib(row.peak_mib)}",
        f"{row.variables or '?'} variables, {row.constraints or '?'} constraints" + _counters(row.counters),
        f"on {row.host}, {_count(row.threads, 'thread')}, pinned to core{'s' * (',' in row.cores)} {row.cores}",
        *([row.detail] if row.detail else []),
        kind.render(row.puzzle, solution),
    ]
    return "\n".join(lines + _beyond(row))


def _task(row: Any) -> list[str]:
    """Describe the result of a task other than solve."""
    if row.task == Task.SOLVE:
        return []
    if row.task == Task.REPAIR and row.changes is not None:
        proved = "proved minimal" if row.complete else "not proved minimal"
        return [f"task repair: {_count(row.changes, 'change')}, {proved}"]
    if row.count is None:
        return [f"task {row.task}"]
    bound = f" (reached the bound of {row.bound:,})" if row.count == row.bound else ""
    rest = "no others" if row.complete else f"possibly more{bound}"
    return [f"task {row.task}: {_count(row.count, 'solution')}, {rest}; {row.verified or 0:,} verified"]


def _beyond(row: Any) -> list[str]:
    """Return the lines below the drawing: the changes of a repair, or the second solution."""
    if row.task == Task.REPAIR:
        return changed(row.kind, row.puzzle, row.solution) if row.solution else []
    if not row.second:
        return []
    kind = KINDS[row.kind]
    cells = summarised(differing(row.kind, row.puzzle, row.solution, row.second))
    return [f"second solution, {cells}", kind.render(row.puzzle, kind.assignment(row.puzzle, row.second))]


def _counters(counters: dict[str, Any] | None) -> str:
    return "".join(f", {name} {value:,}" for name, value in (counters or {}).items())


def _count(number: int, what: str) -> str:
    return f"{number:,} {what}" + "s" * (number != 1)


def _ms(value: float | None) -> str:
    return "?" if value is None else f"{value * 1000:.2f} ms"


def _mib(value: float | None) -> str:
    return "?" if value is None else f"{value:.1f} MiB"
