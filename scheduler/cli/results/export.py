"""The command ``export``."""

from __future__ import annotations

from pathlib import Path
from typing import TYPE_CHECKING

import typer

from cagematch.problems.errors import InputError
from cagematch.scheduler.cli import options
from cagematch.scheduler.cli.connection import connect
from cagematch.scheduler.cli.output import notes, plural, warn
from cagematch.scheduler.cli.results.report import ALL_DISTURBED

if TYPE_CHECKING:
    from collections.abc import Callable
    from typing import TextIO

    from sqlalchemy import Connection

    from cagematch.scheduler.reports.scope import Scope

STDOUT = "-"
EXAMPLES = ("scheduler export runs.csv", "scheduler export --experiment 1 experiment.toml")


def export(
    words: options.ExportFile = None,
    form: options.ExportFormat = None,
    exclude_disturbed: options.ExcludeDisturbed = False,
    experiment: options.ExperimentOf = None,
) -> None:
    """Write runs to a file, one row per run.

    Without BATCH, the file contains the latest run of each puzzle and configuration, from the batches with the same
    task and limits as the latest. A note lists the batches that are excluded.
    """
    from cagematch.scheduler.reports.export import WRITERS, format_of

    if experiment is not None:
        if exclude_disturbed:
            raise InputError("--exclude-disturbed applies to runs; an experiment file contains none")
        _export_experiment(experiment, words or [STDOUT])
        return
    if not words:
        raise InputError("found no file name, expected FILE.csv, FILE.jsonl or -; try `scheduler export runs.csv`")
    *batches, file = words
    chosen = form or ("csv" if file == STDOUT else format_of(file))
    if chosen not in WRITERS:
        raise InputError(f"found --format {chosen}, expected one of: {', '.join(WRITERS)}")
    _export_runs(batches, file, WRITERS[chosen], exclude_disturbed=exclude_disturbed)


def _export_runs(batches: list[str], file: str, write: Callable[..., int], *, exclude_disturbed: bool) -> None:
    from cagematch.models.engine import reading
    from cagematch.scheduler.batches.lookup import find_batch
    from cagematch.scheduler.reports.coverage import excluded_batches
    from cagematch.scheduler.reports.runs import exported
    from cagematch.scheduler.reports.scope import scope

    _, engine = connect(quiet=file == STDOUT, reads_only=True)
    numbers = [find_batch(engine, word) for word in batches]
    with reading(engine) as connection:
        covered = scope(connection, numbers)
        covered = _undisturbed(connection, covered) if exclude_disturbed else covered
        for line in excluded_batches(connection, covered):
            notes().print(line)
        rows = exported(connection, covered)
        count = _write(file, lambda out: write(rows, out))
    if file != STDOUT:
        notes().print(f"{plural(count, 'run')} written to {file}")


def _write(file: str, write: Callable[[TextIO], int]) -> int:
    from cagematch.scheduler.cli.consoles import data_out

    if file == STDOUT:
        return write(data_out())
    try:
        with Path(file).open("w", encoding="utf-8", newline="") as out:
            return write(out)
    except OSError as error:
        raise InputError(f"{file} cannot be written: {error.strerror}") from None


def _undisturbed(connection: Connection, covered: Scope) -> Scope:
    """Exclude disturbed runs and print how many. Raises InputError where no run is left."""
    from cagematch.scheduler.reports.coverage import excluded_runs
    from cagematch.scheduler.reports.disturbances import undisturbed
    from cagematch.scheduler.reports.scope import covered_batches

    remaining = undisturbed(connection, covered)
    if remaining.excludes_runs and not covered_batches(connection, remaining):
        raise InputError(ALL_DISTURBED)
    if remaining.excludes_runs:
        notes().print(excluded_runs(connection, remaining))
    return remaining


def _export_experiment(batch: str, words: list[str]) -> None:
    """Write an experiment file, and warn about puzzle files that it cannot name."""
    from cagematch.models.engine import reading
    from cagematch.scheduler.batches.experiments import SUFFIX, write
    from cagematch.scheduler.batches.lookup import find_batch

    file = words[0]
    if len(words) != 1 or not file.endswith((SUFFIX, STDOUT)):
        raise InputError(f"found {' '.join(words)!r}, expected one file {SUFFIX}, or - for standard output")
    _, engine = connect(quiet=file == STDOUT, reads_only=True)
    with reading(engine) as connection:
        folder = Path(file).parent if file != STDOUT else Path()
        text, unnamed = write(connection, find_batch(engine, batch), folder)
    for source in unnamed:
        warn(f"warning: {source} is not in the folder of the experiment; copy its puzzles there and name the file")
    if file == STDOUT:
        typer.echo(text, nl=False)
        return
    try:
        Path(file).write_text(text, encoding="utf-8")
    except OSError as error:
        raise InputError(f"{file} cannot be written: {error.strerror}") from None
    if not unnamed:
        notes().print(f"`scheduler submit {file}` runs it again")
