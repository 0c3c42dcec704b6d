"""What is finished while the database is away: kept on the disk, and stored by a rule that lets in nothing twice."""

from __future__ import annotations

import os
from pathlib import Path

import pytest
from rows import make_batch, make_worker, memory_app, messages, runs, shard
from sqlalchemy import Engine, select, update

from cagematch.models import Batch, BatchState, Run, Shard, ShardState, Shift, StoredPuzzle
from cagematch.models.base import now
from cagematch.models.engine import reading, writing
from cagematch.problems.errors import ServiceError
from cagematch.scheduler.batches.transitions import cancel, resume
from cagematch.workers.service.supervision import return_expired, take_up
from cagematch.workers.shards.leases import ClaimedShard, Planned, claim, planned
from cagematch.workers.shards.outbox import settle, shift_of
from cagematch.workers.shards.rows import Recorder
from cagematch.workers.shards.spool import Late, Spool

SOLVED = "1234341221434321"
ANSWER = {"answer": "solution", "stop": "finished", "wall_s": 0.5, "assignment": [int(digit) for digit in SOLVED]}
SEEN = {"seconds": 3.0, "steal": None, "pressure": None, "load": 0.5, "oversubscribed": False, "reference_s": 0.1}


@pytest.fixture
def spool(engine: Engine, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Spool:
    monkeypatch.setenv("CAGEMATCH_SPOOL", str(tmp_path / "spool"))
    return Spool(engine.url)


@pytest.fixture
def claimed(engine: Engine) -> ClaimedShard:
    (shard_id,) = make_batch(engine, puzzles=4, size=4)
    found = claim(engine, shard_id, make_worker(engine))
    assert found
    return found


def rows(engine: Engine, claimed: ClaimedShard, count: int) -> list[dict]:
    """Rows of the first runs of a shard."""
    recorder = Recorder(claimed, 1, [0], 1)
    with reading(engine) as connection:
        puzzles = connection.scalars(select(StoredPuzzle.id).order_by(StoredPuzzle.id)).all()
    return [recorder.row(Planned(at, 0, puzzles[at], "sudoku", SOLVED), ANSWER) for at in range(count)]


def late(engine: Engine, claimed: ClaimedShard, count: int) -> Late:
    return Late(claimed, count, rows(engine, claimed, count), SEEN)


def leave(engine: Engine, spool: Spool, claimed: ClaimedShard, *parts: int) -> Path:
    """What a worker leaves that is lost: so many runs in each line."""
    file = spool.begin(claimed)
    made, at = rows(engine, claimed, sum(parts)), 0
    for part in parts:
        assert file.keep(at + part, made[at : at + part], SEEN)
        at += part
    file.close()
    return file.path


def settled(engine: Engine, found: Late) -> int:
    settle(engine, found, shift_of(found))
    return len(runs(engine))


def lose(engine: Engine, claimed: ClaimedShard) -> None:
    """The lease runs out and goes to another."""
    with writing(engine) as connection:
        connection.execute(update(Shard).values(lease_expires_at=now() - 1))
        return_expired(connection, [claimed.batch_id])


def test_while_the_lease_is_ours_the_shard_moves_on(engine: Engine, claimed: ClaimedShard):
    assert settled(engine, late(engine, claimed, 3)) == 3
    assert (shard(engine, claimed.shard_id).position, shard(engine, claimed.shard_id).state) == (3, ShardState.LEASED)

    assert settled(engine, late(engine, claimed, 4)) == 4
    with reading(engine) as connection:
        assert connection.scalars(select(Batch.state)).one() is BatchState.DONE


def test_when_the_lease_is_lost_runs_that_are_missing_go_in_and_the_next_leaves_them_out(
    engine: Engine, claimed: ClaimedShard
):
    lose(engine, claimed)
    another = claim(engine, claimed.shard_id, make_worker(engine))
    first = rows(engine, claimed, 1)[0] | {"wall_s": 9.0}
    assert settled(engine, Late(another, 1, [first], SEEN)) == 1

    assert settled(engine, late(engine, claimed, 3)) == 3

    with reading(engine) as connection:
        assert connection.scalars(select(Run.wall_s).order_by(Run.puzzle_id)).all() == [9.0, 0.5, 0.5]
    assert shard(engine, claimed.shard_id).position == 1
    assert [run.index for run in planned(engine, another)] == [3]


def test_nothing_goes_into_a_cancelled_batch_and_what_is_missing_into_one_that_was_resumed(
    engine: Engine, claimed: ClaimedShard
):
    cancel(engine, claimed.batch_id)
    assert settled(engine, late(engine, claimed, 2)) == 0

    resume(engine, claimed.batch_id, alone=False)
    assert settled(engine, late(engine, claimed, 2)) == 2


def test_nothing_goes_into_a_batch_of_that_number_in_another_database(engine: Engine, claimed: ClaimedShard):
    with writing(engine) as connection:
        connection.execute(update(Batch).values(created_at=Batch.created_at - 1))

    assert settled(engine, late(engine, claimed, 2)) == 0


def test_what_a_lost_worker_left_is_taken_up_and_its_shard_put_back_at_once(
    engine: Engine, spool: Spool, claimed: ClaimedShard
):
    path = leave(engine, spool, claimed, 2, 1)
    app = memory_app(engine)

    take_up(app, engine, spool)

    assert len(runs(engine)) == 3
    assert (shard(engine, claimed.shard_id).state, shard(engine, claimed.shard_id).attempts) == (ShardState.QUEUED, 0)
    assert messages(app) == 1
    assert not path.exists()
    with reading(engine) as connection:
        assert connection.execute(select(Shift.seconds, Shift.worker_id)).one() == (3.0, 1)
        assert connection.scalar(select(Run.shift_id).distinct()) is not None


def test_of_a_torn_line_nothing_is_taken_and_its_runs_are_done_again(
    engine: Engine, spool: Spool, claimed: ClaimedShard
):
    path = leave(engine, spool, claimed, 2, 1)
    path.write_bytes(path.read_bytes()[:-40])

    take_up(memory_app(engine), engine, spool)

    assert len(runs(engine)) == 2
    again = claim(engine, claimed.shard_id, make_worker(engine))
    assert [run.index for run in planned(engine, again)] == [2, 3]


def test_the_file_of_a_shift_that_lives_is_left_alone(engine: Engine, spool: Spool, claimed: ClaimedShard):
    file = spool.begin(claimed)
    file.keep(1, rows(engine, claimed, 1), SEEN)

    take_up(memory_app(engine), engine, spool)

    assert runs(engine) == []
    assert file.path.exists()
    file.close()


def test_a_file_without_a_run_is_removed(engine: Engine, spool: Spool, claimed: ClaimedShard):
    spool.begin(claimed).close()

    take_up(memory_app(engine), engine, spool)

    assert spool.files() == []


def test_what_the_database_refuses_stays_on_the_disk_and_in_nobodys_way(
    engine: Engine, spool: Spool, claimed: ClaimedShard
):
    path = leave(engine, spool, claimed, 1)
    path.write_text(path.read_text().replace('"configuration_id": 1', '"configuration_id": 999'))

    take_up(memory_app(engine), engine, spool)
    take_up(memory_app(engine), engine, spool)

    assert runs(engine) == []
    assert path.with_suffix(".refused").exists()


def test_a_file_that_makes_no_sense_stays_and_is_in_nobodys_way(engine: Engine, spool: Spool, claimed: ClaimedShard):
    path = leave(engine, spool, claimed, 1)
    first, rest = path.read_text().split("\n", 1)
    texts = ["nonsense\n" + rest, first + '\n{"rows": []}\n', first.replace("token", "ticket") + "\n" + rest, "[]\n5\n"]

    for number, text in enumerate(texts):
        path.with_stem(f"bad-{number}").write_text(text)
    take_up(memory_app(engine), engine, spool)

    assert len(runs(engine)) == 1
    assert spool.files() == []
    assert len([*spool.folder.glob("bad-*.refused")]) == len(texts)


@pytest.mark.skipif(os.geteuid() != 0, reason="only root gives files away")
def test_what_another_user_put_into_the_folder_is_left_alone(engine: Engine, spool: Spool, claimed: ClaimedShard):
    os.chown(leave(engine, spool, claimed, 1), 65534, 65534)

    take_up(memory_app(engine), engine, spool)

    assert runs(engine) == []


def test_a_full_spool_takes_nothing_and_is_left_as_it_was(engine: Engine, spool: Spool, claimed: ClaimedShard):
    file = spool.begin(claimed)
    made = rows(engine, claimed, 2)
    assert file.keep(1, made[:1], SEEN)
    before = file.path.read_bytes()

    spool.most = len(before) + 10
    assert not file.keep(2, made[1:], SEEN)

    assert file.path.read_bytes() == before
    file.close()


def test_databases_have_folders_of_their_own_whoever_connects(spool: Spool):
    one, other = (Spool(f"postgresql+psycopg://{user}@db:5432/cagematch").folder for user in ("a:secret", "b"))

    assert one == other != Spool("postgresql+psycopg://a@db:5432/another").folder
    assert Spool("postgresql+psycopg://a@db2:5432/cagematch").folder != one


def test_a_spool_that_cannot_be_written_or_makes_no_sense_is_said(tmp_path: Path, monkeypatch: pytest.MonkeyPatch):
    (tmp_path / "file").touch()
    monkeypatch.setenv("CAGEMATCH_SPOOL", str(tmp_path / "file"))
    with pytest.raises(ServiceError, match="set CAGEMATCH_SPOOL to a folder of your own"):
        Spool("sqlite:///x.db").require()

    monkeypatch.setenv("CAGEMATCH_SPOOL_MIB", "much")
    with pytest.raises(ServiceError, match="'much'; expected a whole number of MiB"):
        Spool("sqlite:///x.db")
