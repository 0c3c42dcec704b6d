"""Showing a batch's progress until it is over: bars on a terminal, now and then a line elsewhere."""

from __future__ import annotations

import time
from collections.abc import Callable

from rich.console import Console
from rich.progress import BarColumn, Progress as Bars, ProgressColumn, Task, TaskID, TextColumn
from rich.text import Text
from sqlalchemy import Engine

from models import BatchState
from problems.outcome import Word
from scheduler.progress import Advance, Progress, progress

LOOK_S = 0.25
LINE_EVERY_S = 10.0


def watch(engine: Engine, batch_id: int, console: Console, check: Callable[[], None] = lambda: None) -> Progress:
    """Show until the batch is over, and return where it then stood. ``check`` may raise to end it earlier."""
    follow = _bars if console.is_terminal else _lines
    return follow(engine, batch_id, console, check)


def _bars(engine: Engine, batch_id: int, console: Console, check: Callable[[], None]) -> Progress:
    columns = (
        TextColumn("{task.description}"),
        BarColumn(bar_width=24),
        TextColumn("{task.completed:.0f}/{task.total:.0f}"),
        _Rate(),
        TextColumn("{task.fields[words]}"),
    )
    with Bars(*columns, console=console, refresh_per_second=8) as bars:
        tasks: dict[str, TaskID] = {}
        while True:
            state = progress(engine, batch_id)
            for advance in state.configurations:
                if advance.configuration not in tasks:
                    tasks[advance.configuration] = bars.add_task(
                        advance.configuration, total=advance.total, completed=advance.done, words=""
                    )
                task = tasks[advance.configuration]
                bars.update(task, completed=advance.done, total=advance.total, words=words(advance))
            if state.over:
                return state
            check()
            time.sleep(LOOK_S)


def _lines(engine: Engine, batch_id: int, console: Console, check: Callable[[], None]) -> Progress:
    started = told = time.monotonic()
    first = progress(engine, batch_id).done
    while True:
        state = progress(engine, batch_id)
        if state.over:
            return state
        if time.monotonic() - told >= LINE_EVERY_S:
            told = time.monotonic()
            rate = (state.done - first) / (told - started)
            left = f", about {(state.total - state.done) / rate:.0f} s left" if rate else ""
            console.print(f"{state.done}/{state.total} runs, {rate:.1f}/s{left}", highlight=False)
        check()
        time.sleep(LOOK_S)


def words(advance: Advance) -> str:
    """How many runs of each word, the loudest first; ``solved`` last."""
    return ", ".join(f"{advance.words[w]} {w.value}" for w in Word if advance.words.get(w))


class _Rate(ProgressColumn):
    """Runs per second, and how long the rest will take at that rate."""

    def render(self, task: Task) -> Text:
        if task.finished:
            return Text(f"in {task.finished_time or 0:.1f} s", style="dim")
        if not task.speed:
            return Text("waiting", style="dim")
        left = (task.total or 0) - task.completed
        return Text(f"{task.speed:.1f}/s, {left / task.speed:.0f} s left", style="dim")


def conclusion(end: Progress) -> tuple[str, bool]:
    """One line on a batch that is over, and whether a run of it was wrong or failed for a reason of ours."""
    counted: dict[Word, int] = {}
    for advance in end.configurations:
        for told, count in advance.words.items():
            counted[told] = counted.get(told, 0) + count
    told = ", ".join(f"{counted[w]} {w.value}" for w in Word if counted.get(w))
    state = "cancelled at" if end.state is BatchState.CANCELLED else "done:"
    line = f"batch {end.batch_id} {state} {end.done} of {end.total} runs ({told}); `scheduler report` compares them"
    return line, bool(counted.get(Word.WRONG) or counted.get(Word.ERROR))
