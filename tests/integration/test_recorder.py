"""Answers as rows: verified, stored once, and the same on both databases."""

from __future__ import annotations

from typing import Any

import pytest
from msgspec.structs import asdict, replace
from rows import make_batch, make_worker
from sqlalchemy import Engine, func, select

from cagematch.models import Run, ShardState, StoredPuzzle, StoredSize
from cagematch.models.engine import reading, writing
from cagematch.problems.outcome import Answer, Stop
from cagematch.workers.messages.protocol import RunAnswer
from cagematch.workers.shards.leases import ClaimedShard, claim
from cagematch.workers.shards.plan import PlannedRun
from cagematch.workers.shards.rows import Recorder, RunRow, Sizes
from cagematch.workers.shards.rows import store as store_rows

SHIFT = 5
SOLVED = "1234341221434321"
SIZE = '{"variables": {"integer": 16}, "constraints": {"AllDifferent row": 4, "AllDifferent box": 4}}'
ANSWER = RunAnswer(
    1,
    Answer.SOLUTION,
    Stop.FINISHED,
    wall_s=0.30000000000000004,
    assignment=[int(digit) for digit in SOLVED],
    build_s=0.1,
    solve_s=1e-7,
    baseline_mib=50.25,
    peak_mib=51.5,
    counters={"branches": 12345678901, "\N{GREEK SMALL LETTER PI}": 3},
    size=SIZE,
)


@pytest.fixture
def claimed(engine: Engine) -> ClaimedShard:
    (shard_id,) = make_batch(engine, puzzles=3, size=3, state=ShardState.QUEUED)
    found = claim(engine, shard_id, make_worker(engine))
    assert found
    return found


@pytest.fixture
def recorder(engine: Engine, claimed: ClaimedShard) -> Recorder:
    return Recorder(claimed, 1, [0, 1], 2)


def plan(engine: Engine, at: int = 0) -> PlannedRun:
    with reading(engine) as connection:
        puzzle = connection.scalars(select(StoredPuzzle.id).order_by(StoredPuzzle.id)).all()[at]
    return PlannedRun(at, 0, puzzle, "sudoku", SOLVED)


def store(engine: Engine, *rows: RunRow) -> list[Any]:
    sizes = Sizes(engine)
    sizes.look_up(list(rows))
    with writing(engine) as connection:
        store_rows(connection, list(rows), sizes, SHIFT)
    with reading(engine) as connection:
        return list(connection.execute(select(Run.__table__).order_by(Run.puzzle_id)))


def test_every_column_comes_back_as_it_went_in(engine: Engine, recorder: Recorder):
    row = recorder.row(plan(engine), ANSWER)

    (found,) = store(engine, row)

    stored = {name: value for name, value in found._mapping.items() if name not in ("id", "shift_id", "size_id")}
    assert asdict(row) == stored | {"size": SIZE}
    assert found.shift_id == SHIFT
    assert (found.answer, found.stop, found.holds, found.solution) == (Answer.SOLUTION, Stop.FINISHED, True, SOLVED)
    assert (found.cores, found.threads, found.counters["branches"]) == ("0,1", 2, 12345678901)


def test_stored_run_is_kept(engine: Engine, recorder: Recorder):
    """A run that is already stored does not change."""
    first = recorder.row(plan(engine), ANSWER)
    again = recorder.row(plan(engine), replace(ANSWER, wall_s=9.0))
    other = recorder.row(plan(engine, 1), ANSWER)

    store(engine, first)
    found = store(engine, again, other)

    assert [run.wall_s for run in found] == [ANSWER.wall_s] * 2


def test_nothing_to_store_is_no_fault(engine: Engine, recorder: Recorder):
    assert store(engine) == []


def test_a_wrong_solution_is_found_out(engine: Engine, recorder: Recorder):
    row = recorder.row(plan(engine), replace(ANSWER, assignment=[1] * 16))

    (found,) = store(engine, row)

    assert (found.holds, found.solution, found.verified) == (False, "1" * 16, 0)


def test_without_a_solution_there_is_nothing_to_check(engine: Engine, recorder: Recorder):
    told = RunAnswer(1, Answer.UNKNOWN, Stop.CRASHED, 1.0, 'NUL \0, "é", \\, \n', signal=11)

    (found,) = store(engine, recorder.row(plan(engine), told))

    assert (found.holds, found.solution, found.counters, found.size_id) == (None, None, None, None)
    assert (found.signal, found.detail) == (11, 'NUL \\0, "é", \\, \n')


def test_a_size_is_stored_once_with_its_totals(engine: Engine, recorder: Recorder):
    store(engine, recorder.row(plan(engine), ANSWER))
    found = store(engine, recorder.row(plan(engine, 1), ANSWER), recorder.row(plan(engine, 2), ANSWER))

    assert len({run.size_id for run in found}) == 1
    with reading(engine) as connection:
        assert connection.scalar(select(func.count()).select_from(StoredSize)) == 1
        assert connection.execute(select(StoredSize.variables, StoredSize.constraints)).one() == (16, 8)
