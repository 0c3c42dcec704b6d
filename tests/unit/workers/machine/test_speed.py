"""The core speed probe, with a simulated clock."""

from __future__ import annotations

from itertools import count

import pytest

from cagematch.workers.machine import speed
from cagematch.workers.machine.speed import FRESH_S, REFERENCE_ROUNDS, TIMED_ROUNDS, SpeedProbe, probe_s


def test_a_probe_is_scaled_up_to_the_reference(monkeypatch: pytest.MonkeyPatch) -> None:
    ticks = count(7)
    monkeypatch.setattr(speed.time, "thread_time", lambda: next(ticks))

    assert probe_s() == REFERENCE_ROUNDS / TIMED_ROUNDS


def test_two_runs_in_a_row_share_a_probe(monkeypatch: pytest.MonkeyPatch) -> None:
    clock, probes = [0.0], count(1)
    monkeypatch.setattr(speed.time, "monotonic", lambda: clock[0])
    monkeypatch.setattr(speed, "probe_s", lambda: float(next(probes)))
    probe = SpeedProbe()

    assert (probe.before(), probe.after()) == (1.0, 2.0)
    clock[0] = 0.9 * FRESH_S
    assert (probe.before(), probe.after()) == (2.0, 3.0)
    clock[0] = 2.0 * FRESH_S
    assert probe.before() == 4.0
