"""Disturbed runs: which runs a report marks, and its warnings."""

from __future__ import annotations

from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest
from shift_rows import HERE, QUIET, fill, shift
from sqlalchemy import Engine, insert, select, update

from cagematch.models import Host, Run, Shift
from cagematch.models.engine import open_engine, reading, writing
from cagematch.scheduler.reports.coverage import coverage
from cagematch.scheduler.reports.disturbances import disturbances, undisturbed
from cagematch.scheduler.reports.scope import Scope, over


@pytest.fixture
def engine(tmp_path: Path) -> Iterator[Engine]:
    engine = open_engine(f"sqlite:///{tmp_path / 'scheduler.db'}")
    fill(engine)
    yield engine
    engine.dispose()


def reported(engine: Engine) -> list[str]:
    with reading(engine) as connection:
        return [str(found) for found in disturbances(connection, Scope((1,), newest=False))]


def test_a_quiet_host_has_no_warnings(engine: Engine):
    shift(engine, 1)
    shift(engine, 2, worker=2, configuration=2, steal=None, pressure=None, load=None, oversubscribed=None)

    assert reported(engine) == []


@pytest.mark.parametrize(
    ("strain", "expected"),
    [
        ({"steal": 0.124}, "CPU steal: other virtual machines took up to 12 % of the CPU time"),
        ({"pressure": 0.6}, "CPU contention: up to 60 % of the time"),
        ({"oversubscribed": True, "load": 7.06}, "oversubscribed cores: load up to 7.1 on 2 cores"),
        ({"reference_s": 0.0036}, "a was up to 20 % slower than at its best"),
    ],
)
def test_a_disturbance_is_reported_with_its_runs(engine: Engine, strain: dict[str, Any], expected: str):
    shift(engine, 1, **strain)
    shift(engine, 2)
    shift(engine, 3, configuration=2, **strain)

    assert reported(engine) == [f"warning: {expected}, 4 runs affected (cbc, scip)"]


def test_a_host_is_compared_with_its_own_best(engine: Engine):
    shift(engine, 1, reference_s=0.0031)
    shift(engine, 2, worker=2, configuration=2, reference_s=0.0034)
    shift(engine, 3, worker=2)

    assert reported(engine) == ["warning: b was up to 13 % slower than at its best, 2 runs affected (cbc)"]


def test_the_best_speed_ignores_few_outliers(engine: Engine):
    """The best speed of a host is the 10th percentile of its shifts."""
    shift(engine, 1, probes=(0.0025, None), reference_s=0.0032)
    row: dict[str, Any] = QUIET | {"batch_id": 1, "worker_id": 1, "began_at": 0.0}
    with writing(engine) as connection:
        connection.execute(insert(Shift), [row | {"id": at} for at in range(10, 18)])
        connection.execute(insert(Shift).values(row | {"id": 30, "reference_s": 0.0022}))
    assert reported(engine) == []

    with writing(engine) as connection:
        connection.execute(insert(Shift).values(row | {"id": 31, "reference_s": 0.0022}))
    assert reported(engine) == ["warning: a was up to 45 % slower than at its best, 2 runs affected (scip)"]


def remaining(engine: Engine) -> list[Any]:
    """Return the puzzles of the undisturbed runs."""
    with reading(engine) as connection:
        undisturbed_runs = undisturbed(connection, Scope((1,), newest=False))
        return list(connection.scalars(over(select(Run.puzzle_id), undisturbed_runs).order_by(Run.puzzle_id)))


def test_only_runs_on_shared_cores_are_excluded(engine: Engine):
    """A run whose core other tenants used is reported and excluded; the other runs of its shift are kept."""
    shift(engine, 1, probes=(0.0037, 0.0062), wall_s=0.2)
    shift(engine, 2, configuration=2, probes=(0.003, 0.0037))
    shift(engine, 3)
    shift(engine, 4, worker=2, probes=(None, 0.0058), reference_s=0.005)

    (line,) = reported(engine)
    assert line == "warning: other tenants used the cores of a: up to 5 % of the time, 1 run affected (scip)"
    assert remaining(engine) == [2, 3, 4, 5, 6, 7, 8]


def test_frequent_use_by_tenants_disturbs_nearby_runs(engine: Engine):
    """Where other tenants used the cores often, every run around that time is disturbed."""
    shift(engine, 1, probes=(0.003, 0.0062), began_at=1000.0, seconds=4.0)
    shift(engine, 2, configuration=2, probes=(None, 0.003), began_at=1005.0, seconds=4.0)
    shift(engine, 3, probes=(None, None), began_at=1005.0, seconds=4.0)
    shift(engine, 4, began_at=1050.0)

    (line,) = reported(engine)
    assert line.endswith(": up to 33 % of the time, 6 runs affected (cbc, scip)")
    assert remaining(engine) == [7, 8]


def test_runs_of_zero_time_have_no_share(engine: Engine):
    shift(engine, 1, wall_s=0.0)
    shift(engine, 2, wall_s=0.0, probes=(0.003, 0.0062), began_at=1000.0)

    (line,) = reported(engine)
    assert line.endswith(": up to 1 % of the time, 1 run affected (scip)")


def test_oversubscription_by_a_solve_is_no_disturbance(engine: Engine):
    """A solve with more threads than cores does not disturb itself."""
    shift(engine, 1, threads=4, pressure=0.9, oversubscribed=True, load=9.0)

    assert reported(engine) == []


@pytest.mark.parametrize("strain", [{"pressure": 0.6}, {"oversubscribed": True, "load": 7.06}])
def test_runs_with_full_cpu_time_are_undisturbed(engine: Engine, strain: dict[str, Any]):
    """A single-threaded run with full CPU time did not wait. With several threads or no CPU time, this is unknown."""
    shift(engine, 1, cpu_s=0.95, **strain)
    assert reported(engine) == []

    shift(engine, 2, cpu_s=1.5, threads=2, cores="0,1", **strain)
    shift(engine, 3, cpu_s=None, **strain)

    assert [line.rpartition(", ")[2] for line in reported(engine)] == ["4 runs affected (scip)"]


def test_a_disturbance_lists_its_shifts_and_runs(engine: Engine):
    for number in (1, 2, 4):
        shift(engine, number, steal=0.5)

    with reading(engine) as connection:
        (found,) = disturbances(connection, Scope((1,), newest=False))

    assert found.shifts == {1, 2, 4}
    assert found.runs == {"scip": 6}


def covered(engine: Engine, scope: Scope) -> list[str]:
    with reading(engine) as connection:
        return coverage(connection, scope)


def test_excluded_runs_are_reported(engine: Engine):
    shift(engine, 1, steal=0.5)
    shift(engine, 2)

    with reading(engine) as connection:
        undisturbed_runs = undisturbed(connection, Scope((1,), newest=False))
        kept = connection.scalars(over(select(Run.shift_id), undisturbed_runs)).all()

    assert kept == [2, 2]
    assert covered(engine, Scope((1,), newest=False))[-1] == "note: exclude these runs with --exclude-disturbed"
    assert covered(engine, undisturbed_runs)[-1] == "note: 2 disturbed runs excluded"


def test_a_configuration_without_undisturbed_runs_is_named(engine: Engine):
    shift(engine, 1)
    shift(engine, 2, configuration=2, steal=0.5)

    with reading(engine) as connection:
        undisturbed_runs = undisturbed(connection, Scope((1,), newest=False))

    assert covered(engine, undisturbed_runs)[-1] == "note: 2 disturbed runs excluded; no runs remain for cbc"


def test_runs_without_a_shift_are_not_excluded(engine: Engine):
    shift(engine, 1, steal=0.5)
    shift(engine, 2)
    with writing(engine) as connection:
        connection.execute(update(Run).where(Run.shift_id == 2).values(shift_id=None))
        undisturbed_runs = undisturbed(connection, Scope((1,), newest=False))

        assert connection.scalars(over(select(Run.shift_id), undisturbed_runs)).all() == [None, None]


def test_different_hosts_are_listed_with_their_configurations(engine: Engine):
    shift(engine, 1)
    shift(engine, 2, worker=2)
    shift(engine, 3, worker=2, configuration=2)
    alike = covered(engine, Scope((1,), newest=False))
    with writing(engine) as connection:
        connection.execute(update(Host).where(Host.id == 2).values(facts=HERE | {"processor": "6502"}))

    unlike = covered(engine, Scope((1,), newest=False))

    assert not any("differ" in line for line in alike)
    assert "warning: the hosts differ, so times are not comparable: cbc on b; scip on a, b" in unlike


def test_hosts_with_one_name_are_distinguished_by_facts(engine: Engine):
    shift(engine, 1)
    shift(engine, 2, worker=2)

    def lines(**facts: Any) -> list[str]:
        with writing(engine) as connection:
            connection.execute(update(Host).where(Host.id == 2).values(name="a", facts=HERE | facts))
        return [line for line in covered(engine, Scope((1,), newest=False)) if line.startswith(("host", "warning"))]

    assert lines(kernel="7") == ["host a: Z80, 2 cores, 64 MiB"]
    assert lines(memory_mib=62, host_cores=2, cores=1) == [
        "host a: Z80, 2 cores, 64 MiB",
        "host a: Z80, 1 cores, 62 MiB",
    ]
    assert lines(memory_mib=32)[2].endswith(" not comparable: scip on a (32 MiB), a (64 MiB)")
    assert lines(hypervisor=False)[1].endswith(" not comparable: scip on a, a (no virtual machine)")
    assert lines(cores=4)[2].endswith(" not comparable: scip on a (2 cores), a (4 cores)")


def test_the_memory_limit_mechanism_is_reported(engine: Engine):
    shift(engine, 1)
    for way, expected in (("cgroup v2", "cgroup v2"), ("watch", "sampling every 10 ms")):
        with writing(engine) as connection:
            connection.execute(update(Host).values(facts=HERE | {"memory_limit": way}))
        assert f"host a: Z80, 2 cores, 64 MiB; memory limited by {expected}" in covered(
            engine, Scope((1,), newest=False)
        )
