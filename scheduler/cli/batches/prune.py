"""The command ``prune``."""

from __future__ import annotations

from collections.abc import Iterator
from contextlib import contextmanager
from typing import TYPE_CHECKING

from cagematch.problems.errors import InputError
from cagematch.scheduler.cli import options
from cagematch.scheduler.cli.connection import connect
from cagematch.scheduler.cli.output import notes, output, plural

if TYPE_CHECKING:
    from cagematch.scheduler.batches.callbacks import ProgressCallback
    from cagematch.scheduler.batches.retention import Deletion

NAMES_SHOWN = 5  # batches and sets
EXAMPLES = ("scheduler prune --older-than 30", "scheduler prune --older-than 30 --unused --yes")


def prune(
    batches: options.Finished = None,
    days: options.OlderThan = None,
    unused: options.Unused = False,
    confirmed: options.Yes = False,
) -> None:
    """Delete batches and their runs permanently.

    Without --yes, nothing is deleted. `scheduler export` saves runs to a file first.
    """
    from cagematch.scheduler.batches import retention
    from cagematch.scheduler.batches.lookup import find_batch

    if not batches and days is None and not unused:
        raise InputError("found no batches, expected BATCH, --older-than DAYS or --unused; see `scheduler status`")
    _, engine = connect()
    chosen = {find_batch(engine, word) for word in batches or []}
    chosen |= set(retention.older_than(engine, days)) if days is not None else set()
    found = retention.plan_deletion(engine, sorted(chosen), unused=unused)
    if found.nothing:
        output().print("there is nothing to delete")
        return
    deleted = _listing(found)
    if not confirmed:
        output().print(f"would delete {deleted}; --yes deletes permanently")
        return
    with _bar(found.runs + found.puzzles) as advance:
        retention.prune(engine, found, advance)
    output().print(f"deleted {deleted}")


def _listing(found: Deletion) -> str:
    """Return ``batches 1, 2 with 300 runs; the set hard; 95 puzzles``."""
    parts = []
    if count := len(found.batches):
        batches = f"batch{'es' * (count > 1)} {_shortened([str(one) for one in found.batches])}"
        parts.append(f"{batches} with {plural(found.runs, 'run')}")
    if found.sets:
        parts.append(f"the set{'s' * (len(found.sets) > 1)} {_shortened(found.sets)}")
    if found.puzzles:
        parts.append(plural(found.puzzles, "puzzle"))
    return "; ".join(parts)


def _shortened(names: list[str]) -> str:
    return ", ".join(names[:NAMES_SHOWN]) + (", …" if len(names) > NAMES_SHOWN else "")


@contextmanager
def _bar(total: int) -> Iterator[ProgressCallback]:
    from rich.progress import BarColumn, Progress, TextColumn

    columns = (TextColumn("deleting"), BarColumn(), TextColumn("{task.percentage:.0f} %"))
    console = notes()
    with Progress(*columns, console=console, transient=True, disable=not console.is_terminal) as bars:
        task = bars.add_task("", total=total)
        yield lambda done, of: bars.update(task, completed=done, total=of)
