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
    """Two batches without runs, on hosts with equal facts."""
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
def test_a_speed_change_is_not_another_machine(engine, later_s, expected):
    """The worker started once, before both batches, so only the speed of its host changed."""
    shift(engine, 1, reference_s=0.003)
    shift(engine, 2, batch=2, reference_s=later_s)

    assert compare(engine, 1, 2) == [SAME, *expected, "scip: 1.00× the mean wall time of batch 1"]


def test_the_probe_at_worker_start_is_the_fallback(engine):
    """Where a shift has no core speed probe, the probe at the start of its worker is compared."""
    with writing(engine) as connection:
        connection.execute(update(Worker).where(Worker.id == 2).values(reference_s=0.0045))
    shift(engine, 1)
    shift(engine, 2, batch=2, worker=2, reference_s=None)

    assert "warning: the core speed probe is 50 % slower in batch 2: the machines differ" in compare(engine, 1, 2)


def test_the_best_speed_ignores_a_single_outlier(engine):
    """A batch is compared by its best speed, excluding a single fast probe."""
    shift(engine, 1, reference_s=0.003)
    shift(engine, 2, batch=2, reference_s=0.0031)
    measured = [0.001, *(0.0032 + at / 1000 for at in range(9))]
    rows = [QUIET | {"id": 10 + at, "batch_id": 2, "reference_s": measured_s} for at, measured_s in enumerate(measured)]
    with writing(engine) as connection:
        connection.execute(insert(Shift), [row | {"worker_id": 1, "began_at": 0.0} for row in rows])

    assert compare(engine, 1, 2) == [SAME, "scip: 1.00× the mean wall time of batch 1"]


def test_a_slow_worker_start_is_not_another_machine(engine):
    """The probe at the start of a worker is ignored where its shifts have probes."""
    with writing(engine) as connection:
        connection.execute(update(Worker).where(Worker.id == 2).values(reference_s=9.0))
        connection.execute(update(Host).where(Host.id == 2).values(name="a"))
    shift(engine, 1)
    shift(engine, 2, batch=2, worker=2)

    assert compare(engine, 1, 2)[0] == SAME
    assert not any("core speed probe" in line for line in compare(engine, 1, 2))


def test_different_machines_are_reported(engine):
    shift(engine, 1)
    shift(engine, 2, batch=2, worker=2, reference_s=0.009)

    assert compare(engine, 1, 2)[:2] == [
        "warning: the host changed from a to b",
        "warning: the core speed probe is 200 % slower in batch 2: the machines differ",
    ]
