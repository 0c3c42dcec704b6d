"""Showing a batch's progress until it is over: bars on a terminal, now and then a line elsewhere."""

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
from cagematch.problems.outcome import Word
from cagematch.scheduler.live.outages import patiently
from cagematch.scheduler.live.progress import Advance, Progress, is_over, progress

LOOK_S = 0.2
COUNT_S = 0.25
SHARE = 0.01  # of the time is what counting may take: the solvers need the rest
LONGEST_S = 2.0  # what somebody in front of a terminal waits for a count at most, however much it takes
LINE_EVERY_S = 10.0
WINDOW_S = 30.0  # the rate is that of the last half minute
ALL = "all"
T = TypeVar("T")
NARROW = 100


class Ask(Protocol):
    """Asks the database something about a batch, waiting for it where it is away."""

    def __call__(self, what: Callable[[Engine, int], T]) -> T:
        """Ask with the engine and the batch's number."""


class _Rows(Bars):
    """Bars, and under them how many there is no room for."""

    hidden = 0

    def get_renderables(self) -> Iterator[RenderableType]:
        """What is drawn, called at every refresh."""
        yield from super().get_renderables()
        if self.hidden:
            yield Text(f"… and {self.hidden} more", style="dim")


@dataclass
class Pace:
    """How fast runs come in: over the last WINDOW_S seconds, or where none came then, from the start."""

    _seen: deque[tuple[float, int]] = field(default_factory=deque)
    _start: tuple[float, int] = (0.0, 0)

    def note(self, at_s: float, done: int) -> None:
        """So many runs are done."""
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

    def told(self, total: int) -> str:
        """The rate, and how long the rest will take at it."""
        done = self._seen[-1][1]
        if done >= total:
            return "done"
        if not self.rate:
            return "waiting"
        return f"{per_second(self.rate)}, {duration((total - done) / self.rate)} left"


def watch(engine: Engine, batch_id: int, console: Console, check: Callable[[], None] = lambda: None) -> Progress:
    """Show until the batch is over, and return where it then stood. ``check`` may raise to end it earlier."""
    show, every_s = (_bars, COUNT_S) if console.is_terminal else (_lines, LINE_EVERY_S)

    def ask(what: Callable[[Engine, int], T]) -> T:
        return patiently(engine, lambda: what(engine, batch_id), console)

    return show(_states(ask, check, every_s), console)


def words(advance: Advance) -> str:
    """How many runs of each word, the loudest first; ``solved`` last."""
    return _told(advance.words)


def conclusion(end: Progress) -> tuple[str, bool]:
    """One line on a batch that is over, and whether a run of it was wrong or failed for a reason of ours."""
    counted = end.words
    state = "cancelled at" if end.state is BatchState.CANCELLED else "done:"
    so_far = f" ({_told(counted)})" if counted else ""
    line = f"batch {end.batch_id} {state} {end.done} of {end.total} runs{so_far}"
    more = f"; `scheduler report {end.batch_id}` compares them" if counted else ""
    return line + more, bool(counted.get(Word.WRONG) or counted.get(Word.ERROR))


def per_second(rate: float) -> str:
    """``0.25/s``, ``3.1/s``, ``312/s``."""
    return f"{rate:.2f}/s" if rate < 1 else f"{rate:.1f}/s" if rate < 100 else f"{rate:,.0f}/s"


def duration(seconds: float) -> str:
    """``45 s``, ``3 min 20 s``, ``2 h 5 min``."""
    whole = round(seconds)
    if whole < 60:
        return f"{whole} s"
    minutes, rest = divmod(whole, 60)
    if minutes < 60:
        return f"{minutes} min {rest} s"
    return f"{minutes // 60} h {minutes % 60} min"


def _states(ask: Ask, check: Callable[[], None], every_s: float) -> Iterator[Progress]:
    """Where the batch stands, every so many seconds at most; the last one is how it ended."""
    took = 0.0
    for look in count():
        started = time.monotonic()
        state = ask(progress)
        if look:  # the first is slow for reasons that are gone then: cold caches, a worker that starts
            took = time.monotonic() - started
        yield state
        if state.over:
            return
        due = time.monotonic() + pause_s(every_s, took)
        while time.monotonic() < due and not ask(is_over):
            check()
            time.sleep(LOOK_S)


def pause_s(every_s: float, took_s: float) -> float:
    """How long to wait after a count that took so long."""
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
                    tasks[name] = bars.add_task(name, total=row.total, pace="", words="", visible=False)
                bars.update(
                    tasks[name],
                    completed=row.done,
                    total=row.total,
                    visible=name in shown,
                    pace=paces[name].told(row.total),
                    words=words(row),
                )
    return state


def _columns(console: Console) -> tuple[TextColumn | BarColumn, ...]:
    """Name, bar, count, pace, outcomes; on a narrow terminal names are cut and the outcomes left out."""
    wide = console.width >= NARROW
    name = Column(no_wrap=True, overflow="ellipsis", max_width=console.width // 3)
    rest = Column(no_wrap=True, overflow="ellipsis")
    columns = (
        TextColumn("{task.description}", markup=False, table_column=name),
        BarColumn(bar_width=24 if wide else 12),
        TextColumn("{task.completed:.0f}/{task.total:.0f}", markup=False, justify="right"),
        TextColumn("{task.fields[pace]}", markup=False, style="dim", table_column=Column(no_wrap=True)),
    )
    return (*columns, TextColumn("{task.fields[words]}", markup=False, table_column=rest)) if wide else columns


def _shown(rows: list[Advance], room: int) -> set[str]:
    """The rows that fit: those under way first, then those to come, then the finished ones; the sum always.

    Where some do not, one line less fits: it says how many those are.
    """
    by_interest = sorted(rows, key=lambda row: (row.configuration != ALL, row.done >= row.total, row.done == 0))
    return {row.configuration for row in by_interest[: max(1, room - (len(rows) > room))]}


def _lines(states: Iterator[Progress], console: Console) -> Progress:
    pace, told = Pace(), time.monotonic()
    for state in states:
        now = time.monotonic()
        pace.note(now, state.done)
        if not state.over and now - told >= LINE_EVERY_S:
            told = now
            console.print(f"{state.done}/{state.total} runs, {pace.told(state.total)}")
    return state


def _told(counted: dict[Word, int]) -> str:
    return ", ".join(f"{counted[w]} {w.value}" for w in Word if counted.get(w))
