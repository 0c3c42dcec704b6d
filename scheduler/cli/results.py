"""Commands on results: report, export, show."""

from __future__ import annotations

import sys
from pathlib import Path
from typing import TYPE_CHECKING, Annotated

import typer

from cagematch.problems.errors import InputError
from cagematch.scheduler.cli.application import app, connect, notes, output

if TYPE_CHECKING:
    from sqlalchemy import Connection

    from cagematch.problems.problem import Puzzle
    from cagematch.scheduler.reports.scope import Scope
    from cagematch.scheduler.reports.table import Table

Batches = Annotated[
    list[str] | None,
    typer.Argument(metavar="BATCH", help="Numbers or names of batches; by default the newest runs of all alike."),
]

EVERY_RUN = "something disturbed every one of these runs; `scheduler report` without --exclude-disturbed tells what"
Undisturbed = Annotated[
    bool,
    typer.Option(
        "--exclude-disturbed",
        help="Leave out runs during which the machine was busy with something else, or slower than at its best.",
    ),
]


@app.command()
def report(
    batches: Batches = None,
    name: Annotated[
        str | None,
        typer.Option(
            "--table",
            metavar="NAME",
            help="comparison: of the configurations. improper: puzzles without exactly one solution. counts: solutions "
            "of each puzzle. repairs: what mends it.  [default: comparison, then what the task is about]",
        ),
    ] = None,
    form: Annotated[str, typer.Option("--format", metavar="FORMAT", help="table, csv, json or md.")] = "table",
    columns: Annotated[
        str | None, typer.Option(metavar="KEY,KEY…", help="Columns to show; `--format csv` shows every key.")
    ] = None,
    sort: Annotated[str | None, typer.Option(metavar="KEY", help="Column to sort by; -KEY for the reverse.")] = None,
    matching: Annotated[
        str | None, typer.Option("--filter", metavar="KEY=WORD", help="Only rows with the word in the column.")
    ] = None,
    calm: Undisturbed = False,
) -> None:
    """Compare configurations, set by set. Then, what the tasks unique, count and repair found of the puzzles.

    Exit code 1 when a run was wrong or failed for a reason of ours, when a puzzle of the task unique does not have
    exactly one solution, and when configurations count differently.

    Without a BATCH, of each puzzle and configuration the newest run counts, out of the batches that have the task and
    the limits of the newest one; a note tells which others are left out.
    """
    from cagematch.models.engine import reading
    from cagematch.scheduler.batches.lookup import find_batch
    from cagematch.scheduler.cli import findings
    from cagematch.scheduler.cli.consoles import written
    from cagematch.scheduler.reports import REPORTS, table
    from cagematch.scheduler.reports.comparison import failures
    from cagematch.scheduler.reports.coverage import coverage
    from cagematch.scheduler.reports.disturbances import undisturbed
    from cagematch.scheduler.reports.formats import WRITERS
    from cagematch.scheduler.reports.scope import scope

    _require(form, name)
    _, engine = connect(reads_only=True)
    numbers = [find_batch(engine, word) for word in batches or []]
    with reading(engine) as connection:
        whole = scope(connection, numbers)
        covered = undisturbed(connection, whole) if calm else whole
        told = coverage(connection, covered)
        compared = REPORTS["comparison"](connection, covered) if name in (None, "comparison") else []
        # Times may be in doubt, answers are not: what was wrong is told, whatever disturbed it.
        judged = REPORTS["comparison"](connection, whole) if calm and compared else compared
        found = findings.findings(connection, whole, name)
    if not (told and (compared or found)):
        raise InputError(EVERY_RUN if calm and covered.excludes_runs else _nothing(numbers))
    for line in told:
        notes().print(line, style="yellow" if line.startswith("warning") else None)
    shown = _chosen(compared or found[0].tables, columns, sort, matching)
    if form != "table":
        written(WRITERS[form](shown))
    elif compared:
        table.show(shown, output())
    else:
        findings.draw(found[0].name, shown, numbers)
    if compared and form == "table" and not (columns or sort or matching):
        for one in found:
            findings.draw(one.name, one.tables, numbers)
    if failed := failures(judged):
        were = "1 run was" if failed == 1 else f"{failed} runs were"
        notes().print(f"{were} WRONG or failed; `scheduler export` tells which", style="bold red")
    if findings.sum_up(found) or failed:
        raise typer.Exit(1)


def _chosen(tables: list[Table], columns: str | None, sort: str | None, matching: str | None) -> list[Table]:
    from cagematch.scheduler.reports.table import chosen

    wanted = [chosen(one, columns, sort, matching) for one in tables]
    shown = [one for one in wanted if one.rows]
    if wanted and not shown:
        raise InputError(f"no row has {matching}")
    return shown


def _require(form: str, name: str | None) -> None:
    from cagematch.scheduler.reports import REPORTS
    from cagematch.scheduler.reports.formats import WRITERS

    if form != "table" and form not in WRITERS:
        raise InputError(f"no format is called {form!r}; there are: table, {', '.join(WRITERS)}")
    if name is not None and name not in REPORTS:
        raise InputError(f"no table is called {name!r}; there are: {', '.join(REPORTS)}")


@app.command()
def export(
    words: Annotated[
        list[str] | None,
        typer.Argument(metavar="[BATCH]... FILE", help="FILE.csv or FILE.jsonl; - for standard output."),
    ] = None,
    form: Annotated[
        str | None, typer.Option("--format", metavar="FORMAT", help="csv or jsonl, where the name does not tell.")
    ] = None,
    calm: Undisturbed = False,
    experiment: Annotated[
        str | None,
        typer.Option(
            metavar="BATCH", help="Write the file that `scheduler submit` makes the batch again from; FILE is .toml."
        ),
    ] = None,
) -> None:
    """Write raw runs, a row each. Those of batches, or the newest of each puzzle and configuration.

    Without a BATCH, only the batches that have the task and the limits of the newest one count; a note tells which
    others are left out.
    """
    from cagematch.models.engine import reading
    from cagematch.scheduler.batches.lookup import find_batch
    from cagematch.scheduler.cli.consoles import data_out
    from cagematch.scheduler.reports.coverage import excluded_batches
    from cagematch.scheduler.reports.export import WRITERS, format_of
    from cagematch.scheduler.reports.runs import exported
    from cagematch.scheduler.reports.scope import scope

    if experiment is not None:
        if calm:
            raise InputError("--exclude-disturbed is of runs: an experiment's file has none")
        _export_experiment(experiment, words or ["-"])
        return
    if not words:
        raise InputError("name a file to write to, FILE.csv or FILE.jsonl, or - for the standard output")
    *numbers, name = words
    chosen = form or ("csv" if name == "-" else format_of(name))
    if chosen not in WRITERS:
        raise InputError(f"no format is called {chosen!r}; there are: {', '.join(WRITERS)}")
    _, engine = connect(quiet=name == "-", reads_only=True)
    found = [find_batch(engine, word) for word in numbers]
    with reading(engine) as connection:
        covered = scope(connection, found)
        covered = _undisturbed(connection, covered) if calm else covered
        for line in excluded_batches(connection, covered):
            notes().print(line)
        rows = exported(connection, covered)
        if name == "-":
            WRITERS[chosen](rows, data_out())
            return
        try:
            with Path(name).open("w", encoding="utf-8", newline="") as out:
                count = WRITERS[chosen](rows, out)
        except OSError as error:
            raise InputError(f"{name} cannot be written: {error.strerror}") from None
    notes().print(f"{count:,} run{'s' * (count != 1)} written to {name}")


def _undisturbed(connection: Connection, covered: Scope) -> Scope:
    """What is left of the runs to export, with a note of what is not."""
    from cagematch.scheduler.reports.coverage import excluded_runs
    from cagematch.scheduler.reports.disturbances import undisturbed
    from cagematch.scheduler.reports.scope import covered_batches

    left = undisturbed(connection, covered)
    if left.excludes_runs and not covered_batches(connection, left):
        raise InputError(EVERY_RUN)
    if left.excludes_runs:
        notes().print(excluded_runs(connection, left))
    return left


def _export_experiment(batch: str, words: list[str]) -> None:
    from cagematch.models.engine import reading
    from cagematch.scheduler.batches.experiments import SUFFIX, write
    from cagematch.scheduler.batches.lookup import find_batch

    if len(words) != 1 or not words[0].endswith((SUFFIX, "-")):
        raise InputError(f"found {' '.join(words)!r}, expected one file {SUFFIX}, or - for the standard output")
    _, engine = connect(quiet=words[0] == "-", reads_only=True)
    with reading(engine) as connection:
        folder = Path(words[0]).parent if words[0] != "-" else Path()
        text, lacking = write(connection, find_batch(engine, batch), folder)
    for source in lacking:
        told = f"warning: {source} is no file below the experiment's folder: put the puzzles there and name them in it"
        notes().print(told, style="yellow")
    if words[0] == "-":
        typer.echo(text, nl=False)
        return
    try:
        Path(words[0]).write_text(text, encoding="utf-8")
    except OSError as error:
        raise InputError(f"{words[0]} cannot be written: {error.strerror}") from None
    if not lacking:
        notes().print(f"`scheduler submit {words[0]}` does it again")


@app.command()
def show(
    what: Annotated[
        str,
        typer.Argument(metavar="PUZZLE|RUN", help="A run's number, SET:N, a fingerprint's start, or a puzzle's text."),
    ],
    model: Annotated[
        list[str] | None,
        typer.Option(metavar="CONFIG", help="How big the puzzle is in a configuration, once or more; nothing is run."),
    ] = None,
) -> None:
    """Draw a puzzle and what is known of it, or a run with its answer. With --model: what a solver makes of it."""
    from cagematch.models.engine import reading
    from cagematch.scheduler.cli.consoles import drawable
    from cagematch.scheduler.inspection.descriptions import describe, puzzle_of

    _, engine = connect(reads_only=True)
    with reading(engine) as connection:
        if not model:
            output().print(drawable(describe(connection, what), sys.stdout))
            return
        puzzle, stored = puzzle_of(connection, what)
    _show_models(puzzle, model, stored=stored)


def _show_models(puzzle: Puzzle, words: list[str], *, stored: bool) -> None:
    from cagematch.problems.kinds import KINDS
    from cagematch.scheduler.cli.consoles import drawable
    from cagematch.scheduler.inspection.model_sizes import model_of
    from cagematch.scheduler.reports.table import Table, show
    from cagematch.workers.configurations import configurations

    found = [model_of(puzzle, configuration) for configuration in configurations(words)]
    output().print(f"{puzzle.kind} {puzzle.fingerprint.hex()[:12]}" + ("" if stored else "  not stored"))
    output().print(drawable(KINDS[puzzle.kind].render(puzzle.text), sys.stdout) + "\n")
    for one in found:
        if isinstance(one, Table):
            show([one], output())
        else:
            output().print(f"{one}\n", style="yellow")


def _nothing(batches: list[int]) -> str:
    if batches:
        named = " and ".join(map(str, batches))
        return f"batch {named} has no runs yet; `scheduler status {batches[0]}` tells how far it is"
    return "there are no runs to report yet; `scheduler submit hard` makes some"
