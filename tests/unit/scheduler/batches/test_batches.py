"""Batches: creation, shards, additional configurations, cancellation, resumption and lookup."""

from __future__ import annotations

import pytest
from bench import SOLVED, Bench, open_bench
from sqlalchemy import select, update

from cagematch.models import Batch, BatchPuzzle, BatchState, Shard, ShardState
from cagematch.models.engine import reading, writing
from cagematch.problems.errors import InputError, LookupFailed
from cagematch.scheduler.batches import creation, lookup, transitions
from cagematch.scheduler.inspection.descriptions import describe
from cagematch.scheduler.live.progress import is_over, progress
from cagematch.workers.configurations import configurations


@pytest.fixture
def bench(tmp_path):
    with open_bench(tmp_path / "scheduler.db") as one:
        yield one


def create(bench: Bench, sets: list[int], words: tuple[str, ...] = ("cp-min-size",), **more: object) -> int:
    return creation.create(bench.engine, creation.Plan(sets, configurations(list(words)), 3.0, 2048, **more))


def order(bench: Bench, batch: int) -> list[int]:
    with reading(bench.engine) as connection:
        query = select(BatchPuzzle.puzzle_id).where(BatchPuzzle.batch_id == batch).order_by(BatchPuzzle.position)
        return list(connection.scalars(query))


def shards(bench: Bench, batch: int) -> list:
    with reading(bench.engine) as connection:
        return connection.execute(select(Shard).where(Shard.batch_id == batch).order_by(Shard.id)).all()


def test_puzzles_are_distinct_limited_and_shuffled(bench):
    """The limit applies to each set, and the seed determines the order."""
    sets = [bench.set("a", [1, 2, 2, 3, 4, 5, 6, 7]), bench.set("b", [7, 8, 9])]

    one, same, other = (create(bench, sets, limit=6, seed=seed) for seed in (1, 1, 2))

    assert sorted(order(bench, one)) == [1, 2, 3, 4, 5, 6, 7, 8, 9]
    assert order(bench, one) == order(bench, same) != order(bench, other)
    assert sorted(order(bench, create(bench, sets, limit=2))) == [1, 2, 7, 8]


def test_shards_cover_every_run_once(bench):
    batch = create(bench, [bench.set("a", list(range(1, 31)))], ("cp-sat", "scip"), repeats=3)

    found = shards(bench, batch)

    for configuration in {s.configuration_id for s in found}:
        mine = [(s.start, s.stop) for s in found if s.configuration_id == configuration]
        assert [start for start, _ in mine] == [0, *(stop for _, stop in mine[:-1])]
        assert mine[-1][1] == 90
    assert {s.queue for s in found} == {"cp-sat", "mip"}
    assert progress(bench.engine, batch).total == 180


def test_only_new_configurations_are_added(bench):
    """Adding a new configuration reopens a finished batch."""
    batch = create(bench, [bench.set("a", [1])])
    with writing(bench.engine) as connection:
        connection.execute(update(Batch).values(state=BatchState.DONE))

    assert transitions.add_configurations(bench.engine, batch, configurations(["cp-min-size", "cp-sat"])) == 1
    assert [a.configuration for a in progress(bench.engine, batch).configurations] == ["cp-min-size", "cp-sat"]
    assert not is_over(bench.engine, batch)


def test_a_cancelled_batch_can_be_resumed(bench):
    batch = create(bench, [bench.set("a", [1, 2, 3])])
    first = shards(bench, batch)[0]
    with writing(bench.engine) as connection:
        connection.execute(update(Shard).where(Shard.id == first.id).values(position=first.stop, state=ShardState.DONE))
    left = 3 - first.stop

    assert transitions.cancel(bench.engine, batch) == left
    assert transitions.cancel(bench.engine, batch) == 0
    assert is_over(bench.engine, batch)
    assert transitions.resume(bench.engine, batch, alone=False) == left
    assert {s.state for s in shards(bench, batch)} <= {ShardState.WAITING, ShardState.DONE}


def test_resume_alone_releases_the_leases_of_dead_processes(bench):
    """Without `alone`, leased shards stay leased."""
    batch = create(bench, [bench.set("a", [1, 2, 3])])
    with writing(bench.engine) as connection:
        connection.execute(update(Shard).values(state=ShardState.LEASED, lease_token="gone"))

    assert transitions.resume(bench.engine, batch, alone=False) == 3
    assert {s.state for s in shards(bench, batch)} == {ShardState.LEASED}
    assert transitions.resume(bench.engine, batch, alone=True) == 3
    assert {(s.state, s.lease_token) for s in shards(bench, batch)} == {(ShardState.WAITING, None)}


def test_batches_are_found_by_number_name_or_prefix(bench):
    one = bench.set("a", [1])
    numbers = [create(bench, [one], name=name) for name in ("try", "try again", "other", None)]

    found = [lookup.find_batch(bench.engine, word) for word in (str(numbers[0]), "try", "try a", "o", None)]
    assert found == [numbers[0], numbers[0], numbers[1], numbers[2], numbers[3]]
    for word, message in (
        ("tr", "matches 2 batches: try, try again"),
        ("x", "no batch 'x'"),
        ("9" * 30, "no batch"),
        ("%", "no batch"),
    ):
        with pytest.raises(LookupFailed, match=message):
            lookup.find_batch(bench.engine, word)


@pytest.mark.parametrize("name", ["taken", "12", "", "  ", "x" * 201, "a\nb", "\x1b[31mred", "\u202eback"])
def test_invalid_or_taken_batch_names_are_refused(bench, name):
    create(bench, [bench.set("a", [1])], name="taken")

    with pytest.raises(InputError):
        lookup.require_free(bench.engine, name)


def test_an_unknown_puzzle_or_run_is_reported(bench):
    puzzle = "..3.2.6..9..3.5..1..18.64....81.29..7.......8..67.82....26.95..8..2.3..9..5.1.3.."
    batch = bench.batch([bench.set("a", [1])])
    bench.runs(batch, "cp-sat", {1: (SOLVED, 1)})
    with reading(bench.engine) as connection:
        for what in ("99", "a:2", "a:0", "abc", "0" * 12, "²", puzzle, "a:" + "9" * 30):
            with pytest.raises(LookupFailed):
                describe(connection, what)
