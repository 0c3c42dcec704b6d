"""The rate of a batch as text, and the bars on a small terminal."""

from __future__ import annotations

import io

import pytest
from rich.console import Console

from cagematch.models import BatchState
from cagematch.problems.outcome import Status
from cagematch.scheduler.live import watch as watching
from cagematch.scheduler.live.progress import ConfigurationProgress as One
from cagematch.scheduler.live.progress import Progress
from cagematch.scheduler.live.watch import Pace, _bars, _lines, _shown, conclusion, duration, pause_s, per_second


def state(*configurations: One, over: BatchState = BatchState.ACTIVE) -> Progress:
    return Progress(7, None, ["hard"], over, list(configurations))


def test_pace_shows_rate_and_remaining_time():
    """Before the first run, the text is `waiting`."""
    pace = Pace()

    pace.note(0.0, 0)
    assert pace.text(100) == "waiting"
    pace.note(2.0, 10)
    assert pace.text(100) == "5.0/s, 18 s left"
    pace.note(3.0, 100)
    assert pace.text(100) == "done"


def test_pace_covers_the_last_half_minute():
    pace = Pace()
    for second in range(100):
        pace.note(float(second), 100 * min(second, 50) + max(0, second - 50))

    assert pace.rate == pytest.approx(1.0)


def test_slow_runs_do_not_return_to_waiting():
    pace = Pace()
    for second in range(60):
        pace.note(float(second), 1 if second >= 10 else 0)

    assert pace.text(11) == "0.02/s, 9 min 50 s left"


def test_runs_before_a_resumption_are_not_counted():
    pace = Pace()
    pace.note(0.0, 90)
    pace.note(10.0, 91)

    assert pace.text(100) == "0.10/s, 1 min 30 s left"


def test_durations_and_rates_as_text():
    assert [duration(s) for s in (0.2, 59.4, 60, 3599, 3660, 90_000)] == [
        "0 s",
        "59 s",
        "1 min 0 s",
        "59 min 59 s",
        "1 h 1 min",
        "25 h 0 min",
    ]
    assert [per_second(r) for r in (0.256, 3.14, 1234)] == ["0.26/s", "3.1/s", "1,234/s"]


def test_small_terminals_show_total_and_unfinished_rows():
    rows = [One(f"done-{n}", 5, 5) for n in range(5)] + [
        One("begun", 2, 5),
        One("later", 0, 5),
    ]

    shown = _shown([*rows, One("all", 27, 35)], 4)

    assert shown == {"all", "begun", "later"}


def test_hidden_configurations_are_counted():
    out = io.StringIO()
    console = Console(file=out, width=80, height=10, force_terminal=True)
    names = [f"solver-{n:02}" for n in range(30)]

    _bars(iter([state(*(One(name, 0, 2) for name in names), over=BatchState.CANCELLED)]), console)

    assert "… and 24 more" in out.getvalue()
    assert "0/60" in out.getvalue()
    assert [name in out.getvalue() for name in names] == [True] * 6 + [False] * 24


def test_the_pause_grows_with_the_query_time():
    """The pause is limited to 2 s, unless the interval is longer."""
    assert [pause_s(0.25, took) for took in (0.0, 0.01, 0.5)] == [0.25, 1.0, 2.0]
    assert pause_s(10.0, 0.5) == 10.0


def test_the_first_count_does_not_delay_the_second(monkeypatch):
    def slow_at_first(question):
        if question is watching.is_over:
            return False
        if not waits:
            sleep(0.3)
        return state(One("a", 0, 1), over=BatchState.DONE if waits else BatchState.ACTIVE)

    waits, sleep = [], watching.time.sleep
    monkeypatch.setattr(watching, "pause_s", lambda every_s, took_s: waits.append(took_s) or every_s)

    list(watching._states(slow_at_first, lambda: None, 0.01))

    assert waits == [0.0]


@pytest.mark.parametrize("width", [40, 80, 120])
def test_bars_show_count_rate_and_remaining_time(width):
    out = io.StringIO()
    console = Console(file=out, width=width, height=20, force_terminal=True)
    states = [
        state(One("[red]", 0, 4), One("b", 0, 4)),
        state(
            One("[red]", 4, 4, {Status.SOLVED: 4}),
            One("b", 4, 4, {Status.WRONG: 4}),
            over=BatchState.DONE,
        ),
    ]

    end = _bars(iter(states), console)

    assert end is states[-1]
    assert "[red]" in out.getvalue()
    assert "4/4" in out.getvalue()
    assert "8/8" in out.getvalue()
    assert ("4 wrong" in out.getvalue()) is (width >= 100)


def test_a_short_batch_prints_no_progress_lines():
    out = io.StringIO()

    _lines(
        iter(
            [
                state(One("a", 0, 4)),
                state(One("a", 1, 4)),
                state(over=BatchState.DONE),
            ]
        ),
        Console(file=out),
    )

    assert out.getvalue() == ""


def test_the_conclusion_counts_outcomes_and_reports_failure():
    """Wrong answers and errors are failures; timeouts are not."""
    good = state(One("a", 3, 3, {Status.SOLVED: 2, Status.TIMEOUT: 1}), over=BatchState.DONE)
    bad = state(One("a", 1, 3, {Status.ERROR: 1}), over=BatchState.CANCELLED)

    assert conclusion(good) == (
        "batch 7 done: 3 of 3 runs (1 timeout, 2 solved); compare them with `scheduler report 7`",
        False,
    )
    assert conclusion(bad) == (
        "batch 7 cancelled at 1 of 3 runs (1 error); compare them with `scheduler report 7`",
        True,
    )
    assert conclusion(state(One("a", 0, 3), over=BatchState.CANCELLED)) == (
        "batch 7 cancelled at 0 of 3 runs",
        False,
    )
