"""Commands on results: report, export, show."""

from __future__ import annotations

import sys
from typing import Annotated

import typer

from problems.errors import InputError
from scheduler.cli.application import app, connect, notes, output

Batches = Annotated[
    list[str] | None,
    typer.Argument(metavar="[BATCH]...", help="Numbers or names of batches; by default the newest runs of all."),
]


@app.command()
def report(
    batches: Batches = None,
    form: Annotated[str, typer.Option("--format", help="table, csv, json or md.")] = "table",
    columns: Annotated[str | None, typer.Option(help="Columns to show, by key, with commas between.")] = None,
    sort: Annotated[str | None, typer.Option(help="Column to sort by; -KEY for the reverse.")] = None,
    matching: Annotated[
        str | None, typer.Option("--filter", metavar="KEY=WORD", help="Only rows with the word in the column.")
    ] = None,
) -> None:
    """Compare configurations set by set: solved, failures, times. Exit code 1 when a run was wrong or failed."""
    from models.engine import reading
    from scheduler.batches import find_batch
    from scheduler.reports import REPORTS, table
    from scheduler.reports.comparison import failures
    from scheduler.reports.coverage import coverage
    from scheduler.reports.runs import scope

    writers = {"csv": table.as_csv, "json": table.as_json, "md": table.as_markdown}
    if form != "table" and form not in writers:
        raise InputError(f"no format is called {form!r}; there are: table, {', '.join(writers)}")
    _, engine = connect()
    numbers = [find_batch(engine, word) for word in batches or []]
    with reading(engine) as connection:
        covered = scope(connection, numbers)
        told = coverage(connection, covered)
        found = REPORTS["comparison"](connection, covered)
    if not found:
        raise InputError("there are no runs to report yet; `scheduler submit puzzles/hard.txt` makes some")
    failed = failures(found)
    shown = [table.chosen(one, columns, sort, matching) for one in found]
    for line in told:
        notes().print(line, style="yellow" if line.startswith("warning") else None, markup=False)
    if form == "table":
        table.show(shown, output())
    else:
        typer.echo(writers[form](shown), nl=False)
    if failed:
        notes().print(
            f"{failed} runs were WRONG or failed; `scheduler export` and `scheduler show` tell which", style="bold red"
        )
        raise typer.Exit(1)


@app.command()
def export(
    words: Annotated[
        list[str], typer.Argument(metavar="[BATCH] FILE", help="FILE.csv or FILE.jsonl; - for standard output.")
    ],
    form: Annotated[str | None, typer.Option("--format", help="csv or jsonl, where the name does not tell.")] = None,
) -> None:
    """Write raw runs, one row each: of a batch, or the newest of each puzzle and configuration."""
    from models.engine import reading
    from scheduler.batches import find_batch
    from scheduler.exporting import WRITERS, format_of
    from scheduler.reports.runs import exported, scope

    *numbers, name = words
    chosen = form or ("csv" if name == "-" else format_of(name))
    if chosen not in WRITERS:
        raise InputError(f"no format is called {chosen!r}; there are: {', '.join(WRITERS)}")
    _, engine = connect(quiet=name == "-")
    with reading(engine) as connection:
        covered = scope(connection, [find_batch(engine, word) for word in numbers])
        rows = exported(connection, covered)
        if name == "-":
            WRITERS[chosen](rows, sys.stdout)
            return
        try:
            with open(name, "w", encoding="utf-8", newline="") as out:
                count = WRITERS[chosen](rows, out)
        except OSError as error:
            raise InputError(f"{name} cannot be written: {error.strerror}") from None
    notes().print(f"{count:,} runs written to {name}", markup=False)


@app.command()
def show(
    what: Annotated[
        str,
        typer.Argument(metavar="PUZZLE|RUN", help="A run's number, SET:N, a fingerprint's start, or a puzzle's text."),
    ],
) -> None:
    """Draw a puzzle and what is known of it, or a run with its answer."""
    from models.engine import reading
    from scheduler.showing import describe

    _, engine = connect()
    with reading(engine) as connection:
        output().print(describe(connection, what), markup=False)
