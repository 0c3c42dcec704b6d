"""A look at how fast a core is, by a clock of the test's own."""

from __future__ import annotations

from itertools import count

import pytest

from cagematch.workers.machine import speed
from cagematch.workers.machine.speed import FRESH_S, REFERENCE_ROUNDS, TIMED_ROUNDS, SpeedProbe, probe_s


def test_a_look_is_told_as_what_all_the_rounds_would_take(monkeypatch: pytest.MonkeyPatch) -> None:
    ticks = count(7)
    monkeypatch.setattr(speed.time, "thread_time", lambda: next(ticks))

    assert probe_s() == REFERENCE_ROUNDS / TIMED_ROUNDS


def test_two_runs_in_a_row_share_the_look_between_them(monkeypatch: pytest.MonkeyPatch) -> None:
    clock, looks = [0.0], count(1)
    monkeypatch.setattr(speed.time, "monotonic", lambda: clock[0])
    monkeypatch.setattr(speed, "probe_s", lambda: float(next(looks)))
    looking = SpeedProbe()

    assert (looking.before(), looking.after()) == (1.0, 2.0)
    clock[0] = 0.9 * FRESH_S
    assert (looking.before(), looking.after()) == (2.0, 3.0)
    clock[0] = 2.0 * FRESH_S
    assert looking.before() == 4.0
