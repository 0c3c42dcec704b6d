"""Runs finished during an outage of the database: kept on the disk, and stored exactly once."""

from __future__ import annotations

import os
from pathlib import Path

import pytest
from msgspec.structs import replace
from rows import make_batch, make_worker, memory_app, messages, runs, shard
from sqlalchemy import Engine, select, update

from cagematch.models import Batch, BatchState, Run, Shard, ShardState, Shift, StoredPuzzle
from cagematch.models.base import now
from cagematch.models.engine import reading, writing
from cagematch.problems.errors import ServiceError
from cagematch.problems.outcome import Answer, Stop
from cagematch.scheduler.batches.transitions import cancel, resume
from cagematch.workers.messages.protocol import RunAnswer
from cagematch.workers.service.supervision import recover_spool, return_expired
from cagematch.workers.shards.conditions import HostConditions
from cagematch.workers.shards.leases import ClaimedShard, claim
from cagematch.workers.shards.outbox import settle, shift_of
from cagematch.workers.shards.plan import PlannedRun, planned_runs
from cagematch.workers.shards.rows import Recorder, RunRow
from cagematch.workers.shards.spool import Spool, SpooledRuns

SOLVED = "1234341221434321"
ANSWER = RunAnswer(1, Answer.SOLUTION, Stop.FINISHED, 0.5, assignment=[int(digit) for digit in SOLVED])
SEEN = HostConditions(3.0, steal=None, pressure=None, load=0.5, oversubscribed=False, reference_s=0.1)


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


def rows(engine: Engine, claimed: ClaimedShard, count: int) -> list[RunRow]:
    """The rows of the first runs of a shard."""
    recorder = Recorder(claimed, 1, [0], 1)
    with reading(engine) as connection:
        puzzles = connection.scalars(select(StoredPuzzle.id).order_by(StoredPuzzle.id)).all()
    return [recorder.row(PlannedRun(at, 0, puzzles[at], "sudoku", SOLVED), ANSWER) for at in range(count)]


def late(engine: Engine, claimed: ClaimedShard, count: int) -> SpooledRuns:
    return SpooledRuns(claimed, count, rows(engine, claimed, count), SEEN)


def leave(engine: Engine, spool: Spool, claimed: ClaimedShard, *parts: int) -> Path:
    """Write the file of a lost worker, with that number of runs in each line."""
    file = spool.create(claimed)
    made, at = rows(engine, claimed, sum(parts)), 0
    for part in parts:
        assert file.keep(at + part, made[at : at + part], SEEN)
        at += part
    file.close()
    return file.path


def settled(engine: Engine, found: SpooledRuns) -> int:
    settle(engine, found, shift_of(found))
    return len(runs(engine))


def lose(engine: Engine, claimed: ClaimedShard) -> None:
    """Let the lease expire, and give it to another worker."""
    with writing(engine) as connection:
        connection.execute(update(Shard).values(lease_expires_at=now() - 1))
        return_expired(connection, [claimed.batch_id])


def test_spool_with_a_valid_lease(engine: Engine, claimed: ClaimedShard):
    """While the lease is valid, the shard advances."""
    assert settled(engine, late(engine, claimed, 3)) == 3
    assert (shard(engine, claimed.shard_id).position, shard(engine, claimed.shard_id).state) == (3, ShardState.LEASED)

    assert settled(engine, late(engine, claimed, 4)) == 4
    with reading(engine) as connection:
        assert connection.scalars(select(Batch.state)).one() is BatchState.DONE


def test_spool_without_a_lease(engine: Engine, claimed: ClaimedShard):
    """After a lost lease, missing runs are stored, and the next worker skips them."""
    lose(engine, claimed)
    another = claim(engine, claimed.shard_id, make_worker(engine))
    first = replace(rows(engine, claimed, 1)[0], wall_s=9.0)
    assert settled(engine, SpooledRuns(another, 1, [first], SEEN)) == 1

    assert settled(engine, late(engine, claimed, 3)) == 3

    with reading(engine) as connection:
        assert connection.scalars(select(Run.wall_s).order_by(Run.puzzle_id)).all() == [9.0, 0.5, 0.5]
    assert shard(engine, claimed.shard_id).position == 1
    assert [run.index for run in planned_runs(engine, another)] == [3]


def test_spool_of_a_cancelled_batch(engine: Engine, claimed: ClaimedShard):
    """No run is stored in a cancelled batch; missing runs are stored in a resumed one."""
    cancel(engine, claimed.batch_id)
    assert settled(engine, late(engine, claimed, 2)) == 0

    resume(engine, claimed.batch_id, alone=False)
    assert settled(engine, late(engine, claimed, 2)) == 2


def test_spool_of_another_database(engine: Engine, claimed: ClaimedShard):
    """No run is stored in a batch with the same number in another database."""
    with writing(engine) as connection:
        connection.execute(update(Batch).values(created_at=Batch.created_at - 1))

    assert settled(engine, late(engine, claimed, 2)) == 0


def test_spool_of_a_lost_worker(engine: Engine, spool: Spool, claimed: ClaimedShard):
    """The runs of a lost worker are stored, and its shard returns to the queue at once."""
    path = leave(engine, spool, claimed, 2, 1)
    app = memory_app(engine)

    recover_spool(app, engine, spool)

    assert len(runs(engine)) == 3
    assert (shard(engine, claimed.shard_id).state, shard(engine, claimed.shard_id).attempts) == (ShardState.QUEUED, 0)
    assert messages(app) == 1
    assert not path.exists()
    with reading(engine) as connection:
        assert connection.execute(select(Shift.seconds, Shift.worker_id)).one() == (3.0, 1)
        assert connection.scalar(select(Run.shift_id).distinct()) is not None


def test_torn_line(engine: Engine, spool: Spool, claimed: ClaimedShard):
    """No run of a torn line is stored, and its runs are repeated."""
    path = leave(engine, spool, claimed, 2, 1)
    path.write_bytes(path.read_bytes()[:-40])

    recover_spool(memory_app(engine), engine, spool)

    assert len(runs(engine)) == 2
    again = claim(engine, claimed.shard_id, make_worker(engine))
    assert [run.index for run in planned_runs(engine, again)] == [2, 3]


def test_file_of_a_live_shift(engine: Engine, spool: Spool, claimed: ClaimedShard):
    """The file of a live shift is not read."""
    file = spool.create(claimed)
    file.keep(1, rows(engine, claimed, 1), SEEN)

    recover_spool(memory_app(engine), engine, spool)

    assert runs(engine) == []
    assert file.path.exists()
    file.close()


def test_a_file_without_a_run_is_removed(engine: Engine, spool: Spool, claimed: ClaimedShard):
    spool.create(claimed).close()

    recover_spool(memory_app(engine), engine, spool)

    assert spool.files() == []


def test_rejected_file(engine: Engine, spool: Spool, claimed: ClaimedShard):
    """A file that the database rejects stays on the disk and blocks no other file."""
    path = leave(engine, spool, claimed, 1)
    path.write_text(path.read_text().replace('"configuration_id":1', '"configuration_id":999'))

    recover_spool(memory_app(engine), engine, spool)
    recover_spool(memory_app(engine), engine, spool)

    assert runs(engine) == []
    assert path.with_suffix(".refused").exists()


def test_invalid_file(engine: Engine, spool: Spool, claimed: ClaimedShard):
    """An invalid file stays on the disk and blocks no other file."""
    path = leave(engine, spool, claimed, 1)
    first, rest = path.read_text().split("\n", 1)
    texts = ["nonsense\n" + rest, first + '\n{"rows": []}\n', first.replace("token", "ticket") + "\n" + rest, "[]\n5\n"]

    for number, text in enumerate(texts):
        path.with_stem(f"bad-{number}").write_text(text)
    recover_spool(memory_app(engine), engine, spool)

    assert len(runs(engine)) == 1
    assert spool.files() == []
    assert len([*spool.folder.glob("bad-*.refused")]) == len(texts)


@pytest.mark.skipif(os.geteuid() != 0, reason="only root gives files away")
def test_files_of_another_user(engine: Engine, spool: Spool, claimed: ClaimedShard):
    """Files of another user are not read."""
    os.chown(leave(engine, spool, claimed, 1), 65534, 65534)

    recover_spool(memory_app(engine), engine, spool)

    assert runs(engine) == []


def test_full_spool(engine: Engine, spool: Spool, claimed: ClaimedShard):
    """A full spool accepts no run and is not changed."""
    file = spool.create(claimed)
    made = rows(engine, claimed, 2)
    assert file.keep(1, made[:1], SEEN)
    before = file.path.read_bytes()

    spool.limit_bytes = len(before) + 10
    assert not file.keep(2, made[1:], SEEN)

    assert file.path.read_bytes() == before
    file.close()


def test_one_folder_per_database(spool: Spool):
    one, other = (Spool(f"postgresql+psycopg://{user}@db:5432/cagematch").folder for user in ("a:secret", "b"))

    assert one == other != Spool("postgresql+psycopg://a@db:5432/another").folder
    assert Spool("postgresql+psycopg://a@db2:5432/cagematch").folder != one


def test_unusable_spool(tmp_path: Path, monkeypatch: pytest.MonkeyPatch):
    """A spool that cannot be written, or has an invalid setting, is reported."""
    (tmp_path / "file").touch()
    monkeypatch.setenv("CAGEMATCH_SPOOL", str(tmp_path / "file"))
    with pytest.raises(ServiceError, match="set CAGEMATCH_SPOOL to a folder that you may write to"):
        Spool("sqlite:///x.db").require()

    monkeypatch.setenv("CAGEMATCH_SPOOL_MIB", "much")
    with pytest.raises(ServiceError, match="'much'; expected a whole number of MiB"):
        Spool("sqlite:///x.db")


# What release 0.1.0 wrote, with its spaces and without the columns that a solve does not fill.
OLD_LEASE = '{"shard_id": %d, "token": "%s", "batch_id": %d, "created_at": %r, "queue": "other", "stop": 4}'
OLD_LINE = (
    '{"position": 1, "rows": [{"batch_id": %d, "configuration_id": 1, "worker_id": 1, "threads": 1, "cores": "0", '
    '"build_s": null, "solve_s": null, "cpu_s": null, "reference_s": null, "baseline_mib": null, "peak_mib": null, '
    '"signal": null, "holds": true, "solution": "1234341221434321", "verified": 1, "puzzle_id": %d, "repeat": 0, '
    '"seed": 0, "answer": "solution", "stop": "finished", "wall_s": 0.25, "size": null, "counters": null, '
    '"detail": "", "finished_at": 1790000000.5}], "seen": {"seconds": 3.0, "steal": null, "pressure": 0.25, '
    '"load": 0.5, "oversubscribed": false, "reference_s": 0.1}}'
)


def test_a_file_of_the_first_release_is_stored(engine: Engine, spool: Spool, claimed: ClaimedShard):
    with reading(engine) as connection:
        puzzle = connection.scalars(select(StoredPuzzle.id).order_by(StoredPuzzle.id)).first()
    spool.folder.mkdir(parents=True)
    lease = OLD_LEASE % (claimed.shard_id, claimed.token, claimed.batch_id, claimed.created_at)
    (spool.folder / "old.jsonl").write_text(f"{lease}\n{OLD_LINE % (claimed.batch_id, puzzle)}\n")

    recover_spool(memory_app(engine), engine, spool)

    with reading(engine) as connection:
        assert connection.execute(select(Run.wall_s, Run.holds, Run.verified, Run.second)).one() == (
            0.25,
            True,
            1,
            None,
        )
        assert connection.scalars(select(Shift.pressure)).one() == 0.25
    assert shard(engine, claimed.shard_id).position == 1
