"""Showing the progress of a batch until it is over: bars on a terminal, a line every ten seconds elsewhere."""

from __future__ import annotations

import time
from collections import deque
from collections.abc import Callable, Iterator
from dataclasses import dataclass, field
from itertools import count
from typing import Protocol, TypeVar

from rich.console import Console, RenderableType
from rich.progress import BarColumn, TaskID, TextColumn
from rich.progress import Progress as Bars
from rich.table import Column
from rich.text import Text
from sqlalchemy import Engine

from cagematch.models import BatchState
from cagematch.problems.outcome import Status
from cagematch.scheduler.live.outages import retry_during_outage
from cagematch.scheduler.live.progress import ConfigurationProgress, Progress, is_over, progress

CHECK_EVERY_S = 0.2  # the interval between two checks whether the batch is over
COUNT_EVERY_S = 0.25  # the shortest interval between two counts of runs
SHARE = 0.01  # the largest share of time that counts take, as the solvers need the cores
LONGEST_S = 2.0  # the longest interval between two counts, however slow they are
LINE_EVERY_S = 10.0
WINDOW_S = 30.0  # the rate covers the last half minute
ALL = "all"
T = TypeVar("T")
NARROW = 100  # columns


class Ask(Protocol):
    """Query the database about a batch, and retry during an outage."""

    def __call__(self, query: Callable[[Engine, int], T]) -> T:
        """Call the query with the engine and the id of the batch."""


class _Rows(Bars):
    """Progress bars, followed by the number of bars that do not fit."""

    hidden = 0

    def get_renderables(self) -> Iterator[RenderableType]:
        """Yield what rich draws at every refresh."""
        yield from super().get_renderables()
        if self.hidden:
            yield Text(f"… and {self.hidden} more", style="dim")


@dataclass
class Pace:
    """The rate of runs over the last WINDOW_S seconds; if no run ended in them, over the whole time."""

    _seen: deque[tuple[float, int]] = field(default_factory=deque)
    _start: tuple[float, int] = (0.0, 0)

    def note(self, at_s: float, done: int) -> None:
        """Record the number of runs done at a time, in seconds."""
        if not self._seen:
            self._start = (at_s, done)
        self._seen.append((at_s, done))
        while len(self._seen) > 2 and self._seen[1][0] < at_s - WINDOW_S:
            self._seen.popleft()

    @property
    def rate(self) -> float:
        """Runs per second."""
        last_s, last = self._seen[-1]
        first_s, first = self._seen[0] if self._seen[0][1] < last else self._start
        return (last - first) / (last_s - first_s) if last_s > first_s else 0.0

    def text(self, total: int) -> str:
        """Return the rate and the estimated time left, such as ``3.1/s, 45 s left``."""
        done = self._seen[-1][1]
        if done >= total:
            return "done"
        if not self.rate:
            return "waiting"
        return f"{per_second(self.rate)}, {duration((total - done) / self.rate)} left"


def watch(engine: Engine, batch_id: int, console: Console, check: Callable[[], None] = lambda: None) -> Progress:
    """Show the progress of a batch until it is over.

    Parameters
    ----------
    check
        Called several times per second; an exception from it ends the display.

    Returns
    -------
    Progress
        The final state.
    """
    show, every_s = (_bars, COUNT_EVERY_S) if console.is_terminal else (_lines, LINE_EVERY_S)

    def ask(query: Callable[[Engine, int], T]) -> T:
        return retry_during_outage(engine, lambda: query(engine, batch_id), console)

    return show(_states(ask, check, every_s), console)


def statuses(of: ConfigurationProgress) -> str:
    """Return the number of runs by status as text: failures first, ``solved`` last."""
    return _counts(of.statuses)


def conclusion(end: Progress) -> tuple[str, bool]:
    """Summarise a batch that is over.

    Returns
    -------
    line : str
        The summary.
    failed : bool
        Whether a run is wrong or ended with an error.
    """
    counted = end.statuses
    state = "cancelled at" if end.state is BatchState.CANCELLED else "done:"
    so_far = f" ({_counts(counted)})" if counted else ""
    line = f"batch {end.batch_id} {state} {end.done} of {end.total} runs{so_far}"
    hint = f"; compare them with `scheduler report {end.batch_id}`" if counted else ""
    return line + hint, bool(counted.get(Status.WRONG) or counted.get(Status.ERROR))


def per_second(rate: float) -> str:
    """Return a rate as text: ``0.25/s``, ``3.1/s``, ``312/s``."""
    return f"{rate:.2f}/s" if rate < 1 else f"{rate:.1f}/s" if rate < 100 else f"{rate:,.0f}/s"


def duration(seconds: float) -> str:
    """Return a duration as text: ``45 s``, ``3 min 20 s``, ``2 h 5 min``."""
    whole = round(seconds)
    if whole < 60:
        return f"{whole} s"
    minutes, rest = divmod(whole, 60)
    if minutes < 60:
        return f"{minutes} min {rest} s"
    return f"{minutes // 60} h {minutes % 60} min"


def _states(ask: Ask, check: Callable[[], None], every_s: float) -> Iterator[Progress]:
    """Yield the state of the batch, at most once in ``every_s`` seconds; the last state is the final one."""
    took = 0.0
    for number in count():
        started = time.monotonic()
        state = ask(progress)
        if number:  # cold caches and the start of the worker slow down the first count only
            took = time.monotonic() - started
        yield state
        if state.over:
            return
        due = time.monotonic() + pause_s(every_s, took)
        while time.monotonic() < due and not ask(is_over):
            check()
            time.sleep(CHECK_EVERY_S)


def pause_s(every_s: float, took_s: float) -> float:
    """Return the seconds to wait after a count that took ``took_s``, so that counts take little of the time."""
    return max(every_s, min(took_s / SHARE, LONGEST_S))


def _bars(states: Iterator[Progress], console: Console) -> Progress:
    paces: dict[str, Pace] = {}
    tasks: dict[str, TaskID] = {}
    with _Rows(*_columns(console), console=console, refresh_per_second=4) as bars:
        for state in states:
            rows = (
                [*state.configurations, state.together(ALL)] if len(state.configurations) > 1 else state.configurations
            )
            shown = _shown(rows, console.height - 2)
            bars.hidden = len(rows) - len(shown)
            for row in rows:
                name = row.configuration
                paces.setdefault(name, Pace()).note(time.monotonic(), row.done)
                if name not in tasks:
                    tasks[name] = bars.add_task(name, total=row.total, pace="", statuses="", visible=False)
                bars.update(
                    tasks[name],
                    completed=row.done,
                    total=row.total,
                    visible=name in shown,
                    pace=paces[name].text(row.total),
                    statuses=statuses(row),
                )
    return state


def _columns(console: Console) -> tuple[TextColumn | BarColumn, ...]:
    """Return the columns: name, bar, count, pace and statuses. A narrow terminal cuts names and omits statuses."""
    wide = console.width >= NARROW
    name = Column(no_wrap=True, overflow="ellipsis", max_width=console.width // 3)
    rest = Column(no_wrap=True, overflow="ellipsis")
    columns = (
        TextColumn("{task.description}", markup=False, table_column=name),
        BarColumn(bar_width=24 if wide else 12),
        TextColumn("{task.completed:.0f}/{task.total:.0f}", markup=False, justify="right"),
        TextColumn("{task.fields[pace]}", markup=False, style="dim", table_column=Column(no_wrap=True)),
    )
    return (*columns, TextColumn("{task.fields[statuses]}", markup=False, table_column=rest)) if wide else columns


def _shown(rows: list[ConfigurationProgress], room: int) -> set[str]:
    """Select the rows that fit: the sum, then running, waiting and finished configurations, in this order.

    If some rows do not fit, one line is reserved for their number.
    """
    by_interest = sorted(rows, key=lambda row: (row.configuration != ALL, row.done >= row.total, row.done == 0))
    return {row.configuration for row in by_interest[: max(1, room - (len(rows) > room))]}


def _lines(states: Iterator[Progress], console: Console) -> Progress:
    pace, printed_s = Pace(), time.monotonic()
    for state in states:
        now = time.monotonic()
        pace.note(now, state.done)
        if not state.over and now - printed_s >= LINE_EVERY_S:
            printed_s = now
            console.print(f"{state.done}/{state.total} runs, {pace.text(state.total)}")
    return state


def _counts(counted: dict[Status, int]) -> str:
    return ", ".join(f"{counted[w]} {w.value}" for w in Status if counted.get(w))
