"""Which runs a report covers, and under which sets it finds their puzzles."""

from __future__ import annotations

from collections.abc import Iterable
from dataclasses import dataclass, replace
from typing import Any

from sqlalchemy import BindParameter, ColumnElement, Connection, Select, and_, bindparam, false, func, not_, or_, select
from sqlalchemy.orm import aliased

from cagematch.models import Batch, BatchSet, PuzzleSet, Run, SetEntry, Worker


@dataclass(frozen=True, slots=True)
class Scope:
    """The batches that a report covers; ``newest``: only the newest run of each puzzle × configuration.

    ``without``: shifts whose runs are left out. ``bounds``: hosts, by number, and what the reference may take there
    beside a run that is not.
    """

    batches: tuple[int, ...]
    newest: bool
    without: frozenset[int] = frozenset()
    bounds: tuple[tuple[int, float], ...] = ()

    @property
    def chosen(self) -> bool:
        """Whether any run is left out."""
        return bool(self.without or self.bounds)

    def whole(self) -> Scope:
        """The same with every run."""
        return replace(self, without=frozenset(), bounds=())


def scope(connection: Connection, batches: list[int]) -> Scope:
    """The given batches; or every batch with the newest one's task and limits, the newest run of each counting."""
    if batches:
        return Scope(tuple(batches), newest=False)
    newest = connection.execute(select(Batch).where(Batch.id.in_(select(func.max(Run.batch_id))))).one_or_none()
    if newest is None:
        return Scope((), newest=True)
    same = (Batch.task, Batch.bound, Batch.timeout_s, Batch.memory_mib)
    alike = select(Batch.id).where(*(column.is_not_distinct_from(getattr(newest, column.key)) for column in same))
    return Scope(tuple(connection.scalars(alike.order_by(Batch.id))), newest=True)


def covered_batches(connection: Connection, covered: Scope) -> list[int]:
    """The batches that a run of the report comes from."""
    return sorted(connection.scalars(over(select(Run.batch_id).distinct(), covered)))


def over(query: Select[*tuple[Any, ...]], covered: Scope) -> Select[*tuple[Any, ...]]:
    """Restrict a query over runs to those that the scope covers.

    The newest run of a puzzle and configuration stands for its whole batch: its repeats count too. Of runs that are
    left out, none stands for anything.
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
    """The runs of the batches, but for those that are left out."""
    found = [run.batch_id.in_(covered.batches)]
    if covered.without:
        # Spelled out in the statement: there may be more of them than it may have parameters.
        disturbed: BindParameter[Any] = bindparam(None, sorted(covered.without), expanding=True, literal_execute=True)
        found.append(or_(run.shift_id.is_(None), run.shift_id.not_in(disturbed)))
    if covered.bounds:
        found.append(or_(run.reference_s.is_(None), not_(slowed(run, covered.bounds))))
    return found


def slowed(run: Any, bounds: Iterable[tuple[int, float]]) -> ColumnElement[bool]:
    """Whether the reference took longer beside a run than the bound of its host."""

    def beyond(host_id: int, most_s: float) -> ColumnElement[bool]:
        of_host = select(Worker.id).where(Worker.host_id == host_id)
        return and_(run.worker_id.in_(of_host), run.reference_s > most_s)

    return or_(false(), *(beyond(*bound) for bound in bounds))


def set_puzzles(covered: Scope) -> Select[*tuple[Any, ...]]:
    """Puzzles and the names of their sets: batch by batch, or for the newest runs the newest set of each name."""
    if not covered.newest:
        return _sets().where(BatchSet.batch_id.in_(covered.batches))
    entries = select(PuzzleSet.name, SetEntry.puzzle_id).join(SetEntry, SetEntry.set_id == PuzzleSet.id)
    return entries.where(PuzzleSet.id.in_(sets_covered(covered))).distinct()


def sets_covered(covered: Scope) -> Select[*tuple[Any, ...]]:
    """The numbers of the sets of the batches; for the newest runs the newest set of each name."""
    if not covered.newest:
        return select(BatchSet.set_id).where(BatchSet.batch_id.in_(covered.batches))
    return (
        select(func.max(PuzzleSet.id))
        .join(BatchSet, BatchSet.set_id == PuzzleSet.id)
        .where(BatchSet.batch_id.in_(covered.batches))
        .group_by(PuzzleSet.name)
    )


def _sets() -> Select[*tuple[Any, ...]]:
    """Each puzzle of each batch with the names of the sets it came from."""
    return (
        select(BatchSet.batch_id, PuzzleSet.name, SetEntry.puzzle_id)
        .join(PuzzleSet, PuzzleSet.id == BatchSet.set_id)
        .join(SetEntry, SetEntry.set_id == BatchSet.set_id)
        .distinct()
    )
