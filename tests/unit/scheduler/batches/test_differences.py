"""The comparison of a batch with its rerun."""

from __future__ import annotations

from collections.abc import Iterator
from pathlib import Path

import pytest
from shift_rows import QUIET, fill, shift
from sqlalchemy import Engine, insert, update

from cagematch.models import Host, Shift, Worker
from cagematch.models.engine import open_engine, writing
from cagematch.scheduler.batches.differences import compare

BUSY = "another process or tenant may have used the cores"
SAME = "same machine, versions and limits as batch 1"


@pytest.fixture
def engine(tmp_path: Path) -> Iterator[Engine]:
    """Two batches without runs, on hosts that are alike."""
    engine = open_engine(f"sqlite:///{tmp_path / 'scheduler.db'}")
    fill(engine, batches=2)
    yield engine
    engine.dispose()


@pytest.mark.parametrize(
    ("later_s", "expected"),
    [
        (0.0032, []),
        (
            0.0045,
            ["warning: the core speed probe is 50 % slower in batch 2: " + BUSY],
        ),
        (
            0.0015,
            ["warning: the core speed probe is 100 % faster in batch 2: " + BUSY],
        ),
    ],
)
def test_a_machine_that_was_faster_or_slower_is_the_same_machine(engine, later_s, expected):
    """Its worker started once, before both."""
    shift(engine, 1, reference_s=0.003)
    shift(engine, 2, batch=2, reference_s=later_s)

    assert compare(engine, 1, 2) == [SAME, *expected, "scip: 1.00× the mean wall time of batch 1"]


def test_where_nothing_was_measured_beside_runs_what_the_worker_measured_has_to_do(engine):
    with writing(engine) as connection:
        connection.execute(update(Worker).where(Worker.id == 2).values(reference_s=0.0045))
    shift(engine, 1)
    shift(engine, 2, batch=2, worker=2, reference_s=None)

    assert "warning: the core speed probe is 50 % slower in batch 2: the machines differ" in compare(engine, 1, 2)


def test_what_counts_is_its_best_moment_but_for_luck(engine):
    shift(engine, 1, reference_s=0.003)
    shift(engine, 2, batch=2, reference_s=0.0031)
    measured = [0.001, *(0.0032 + at / 1000 for at in range(9))]
    rows = [QUIET | {"id": 10 + at, "batch_id": 2, "reference_s": measured_s} for at, measured_s in enumerate(measured)]
    with writing(engine) as connection:
        connection.execute(insert(Shift), [row | {"worker_id": 1, "began_at": 0.0} for row in rows])

    assert compare(engine, 1, 2) == [SAME, "scip: 1.00× the mean wall time of batch 1"]


def test_a_worker_that_started_in_a_bad_moment_is_no_slower_machine(engine):
    with writing(engine) as connection:
        connection.execute(update(Worker).where(Worker.id == 2).values(reference_s=9.0))
        connection.execute(update(Host).where(Host.id == 2).values(name="a"))
    shift(engine, 1)
    shift(engine, 2, batch=2, worker=2)

    assert compare(engine, 1, 2)[0] == SAME
    assert not any("core speed probe" in line for line in compare(engine, 1, 2))


def test_machines_that_differ_are_told_as_such(engine):
    shift(engine, 1)
    shift(engine, 2, batch=2, worker=2, reference_s=0.009)

    assert compare(engine, 1, 2)[:2] == [
        "warning: the host changed from a to b",
        "warning: the core speed probe is 200 % slower in batch 2: the machines differ",
    ]
