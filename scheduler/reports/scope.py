"""The scope of a report: the runs that it covers, and the sets of their puzzles."""

from __future__ import annotations

from collections.abc import Iterable
from dataclasses import dataclass, replace
from typing import Any

from sqlalchemy import BindParameter, ColumnElement, Connection, Select, and_, bindparam, false, func, not_, or_, select
from sqlalchemy.orm import aliased

from cagematch.models import Batch, BatchSet, PuzzleSet, Run, SetEntry, Worker


@dataclass(frozen=True, slots=True)
class Scope:
    """The runs that a report covers.

    Parameters
    ----------
    batches
        The ids of the batches.
    newest
        Whether only the latest run of each puzzle and configuration is covered.
    without
        The shifts whose runs are excluded.
    bounds
        The longest time of the core speed probe by host id, in seconds: runs with a slower probe are excluded.
    """

    batches: tuple[int, ...]
    newest: bool
    without: frozenset[int] = frozenset()
    bounds: tuple[tuple[int, float], ...] = ()

    @property
    def excludes_runs(self) -> bool:
        """Whether disturbed runs are excluded."""
        return bool(self.without or self.bounds)

    def whole(self) -> Scope:
        """Return the same scope without exclusions."""
        return replace(self, without=frozenset(), bounds=())


def scope(connection: Connection, batches: list[int]) -> Scope:
    """Return the scope of the given batches.

    Without batches, it covers the latest runs of all batches with the same task and limits as the latest batch.
    """
    if batches:
        return Scope(tuple(batches), newest=False)
    newest = connection.execute(select(Batch).where(Batch.id.in_(select(func.max(Run.batch_id))))).one_or_none()
    if newest is None:
        return Scope((), newest=True)
    same = (Batch.task, Batch.bound, Batch.timeout_s, Batch.memory_mib)
    alike = select(Batch.id).where(*(column.is_not_distinct_from(getattr(newest, column.key)) for column in same))
    return Scope(tuple(connection.scalars(alike.order_by(Batch.id))), newest=True)


def covered_batches(connection: Connection, covered: Scope) -> list[int]:
    """Return the ids of the batches that have a covered run."""
    return sorted(connection.scalars(over(select(Run.batch_id).distinct(), covered)))


def over(query: Select[*tuple[Any, ...]], covered: Scope) -> Select[*tuple[Any, ...]]:
    """Restrict a query on runs to those that the scope covers.

    The latest run of a puzzle and configuration selects its batch, and with it all repeats in that batch. Excluded runs
    select nothing.
    """
    query = query.select_from(Run).where(*_within(Run, covered))
    if not covered.newest or len(covered.batches) == 1:
        return query
    last = aliased(Run)
    ids = select(func.max(last.id)).where(*_within(last, covered)).group_by(last.configuration_id, last.puzzle_id)
    newest = select(last.configuration_id, last.puzzle_id, last.batch_id).where(last.id.in_(ids)).subquery()
    return query.join(
        newest,
        (newest.c.configuration_id == Run.configuration_id)
        & (newest.c.puzzle_id == Run.puzzle_id)
        & (newest.c.batch_id == Run.batch_id),
    )


def _within(run: Any, covered: Scope) -> list[Any]:
    """Match the runs of the batches, except the excluded ones."""
    found = [run.batch_id.in_(covered.batches)]
    if covered.without:
        # Literals, because there may be more shifts than a statement can have parameters.
        disturbed: BindParameter[Any] = bindparam(None, sorted(covered.without), expanding=True, literal_execute=True)
        found.append(or_(run.shift_id.is_(None), run.shift_id.not_in(disturbed)))
    if covered.bounds:
        found.append(or_(run.reference_s.is_(None), not_(slowed(run, covered.bounds))))
    return found


def slowed(run: Any, bounds: Iterable[tuple[int, float]]) -> ColumnElement[bool]:
    """Match runs whose core speed probe took longer than the bound of their host, in seconds."""

    def beyond(host_id: int, most_s: float) -> ColumnElement[bool]:
        of_host = select(Worker.id).where(Worker.host_id == host_id)
        return and_(run.worker_id.in_(of_host), run.reference_s > most_s)

    return or_(false(), *(beyond(*bound) for bound in bounds))


def set_puzzles(covered: Scope) -> Select[*tuple[Any, ...]]:
    """Return the query for puzzles with their sets: by batch, or for the latest runs in the latest set of each name."""
    if not covered.newest:
        return _sets().where(BatchSet.batch_id.in_(covered.batches))
    entries = select(PuzzleSet.name, SetEntry.puzzle_id).join(SetEntry, SetEntry.set_id == PuzzleSet.id)
    return entries.where(PuzzleSet.id.in_(sets_covered(covered))).distinct()


def sets_covered(covered: Scope) -> Select[*tuple[Any, ...]]:
    """Return the query for the ids of the batches' sets; for the latest runs, the latest set of each name."""
    if not covered.newest:
        return select(BatchSet.set_id).where(BatchSet.batch_id.in_(covered.batches))
    return (
        select(func.max(PuzzleSet.id))
        .join(BatchSet, BatchSet.set_id == PuzzleSet.id)
        .where(BatchSet.batch_id.in_(covered.batches))
        .group_by(PuzzleSet.name)
    )


def _sets() -> Select[*tuple[Any, ...]]:
    """Return the query for the puzzles of each batch, with the names of their sets."""
    return (
        select(BatchSet.batch_id, PuzzleSet.name, SetEntry.puzzle_id)
        .join(PuzzleSet, PuzzleSet.id == BatchSet.set_id)
        .join(SetEntry, SetEntry.set_id == BatchSet.set_id)
        .distinct()
    )
