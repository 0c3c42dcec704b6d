"""The command on solutions that others bring: verify."""

from __future__ import annotations

import json
import os
import sys
from typing import TYPE_CHECKING, Annotated

import typer

from cagematch.problems.errors import FileError, InputError
from cagematch.scheduler.cli.application import app, notes, output

if TYPE_CHECKING:
    from cagematch.scheduler.solutions.claims import Claims
    from cagematch.scheduler.solutions.verification import Judgement
    from cagematch.workers.configurations import Configuration


@app.command()
def verify(
    files: Annotated[
        list[str],
        typer.Argument(
            metavar="FILE|SET", help="Puzzles with a solution each; - for standard input; an export will do."
        ),
    ],
    by: Annotated[
        list[str] | None, typer.Option(metavar="CONFIG", help="Have a solver's own model check each solution, too.")
    ] = None,
    kind: Annotated[
        str | None,
        typer.Option(metavar="KIND", help="What files hold that do not say it themselves; without it, sudoku."),
    ] = None,
    as_json: Annotated[
        bool, typer.Option("--json", help="For programs: a JSON object a line for each solution.")
    ] = False,
) -> None:
    """Check solutions against puzzles. Says which rule a wrong one breaks, and where.

    Files have JSON lines with a "solution" beside each puzzle, a table whose heading names columns puzzle and solution,
    or lines of a puzzle and its solution. Exit code 1 when a solution is wrong, or a solver does not agree.
    """
    from cagematch.problems.kinds import kind_named
    from cagematch.scheduler.solutions.verification import require_handled

    if kind is not None:
        kind_named(kind)
    if by and len(by) > 1:
        raise InputError(f"--by was given {len(by)} times, expected one configuration: solvers may not share a process")
    configuration = _configuration(by[0]) if by else None
    loaded = _load(files, kind)
    if configuration:
        for claims in loaded:
            require_handled(configuration, claims)
    fine = [_fine(claims, configuration, as_json=as_json) for claims in loaded]
    if not all(fine):
        raise typer.Exit(1)


def _configuration(word: str) -> Configuration:
    from cagematch.scheduler.cli.working import require_installed
    from cagematch.workers.configurations import configuration

    _keep_output()
    found = configuration(word)
    require_installed([found.backend])
    return found


def _keep_output() -> None:
    """Keep the standard output for ourselves: some solvers print banners there, and some only as the process ends."""
    from cagematch.scheduler.cli.consoles import silence

    ours = os.dup(sys.stdout.fileno())
    silence(sys.stdout)
    sys.stdout = open(ours, "w", encoding=sys.stdout.encoding, errors=sys.stdout.errors)  # noqa: PTH123, SIM115


def _load(words: list[str], kind: str | None) -> list[Claims]:
    """Read every file before anything is checked; name the faults of all of them together."""
    from cagematch.scheduler.readers.source import find_source
    from cagematch.scheduler.solutions.claims import load

    loaded, faults, total = [], [], 0
    for word in dict.fromkeys(words):
        try:
            loaded.append(load(find_source(word), kind))
        except FileError as error:
            faults += error.faults
            total += error.total
    if faults:
        raise FileError(faults, total)
    return loaded


def _fine(claims: Claims, configuration: Configuration | None, *, as_json: bool) -> bool:
    """Judge a file, tell what came of it, and say whether all is right and a solver that was asked says so, too."""
    from cagematch.scheduler.solutions.verification import as_object, description, summary

    by = configuration.text if configuration else None
    judged = _judged(claims, configuration)
    for judgement in judged:
        if as_json:
            typer.echo(json.dumps(as_object(claims, judgement, by)))
        elif not judgement.fine:
            output().print(
                description(claims, judgement, by), style="red" if judgement.agreed in (None, True) else "bold red"
            )
    fine = all(judgement.fine for judgement in judged)
    (notes() if as_json else output()).print(summary(claims, judged, by), style=None if fine else "bold red")
    return fine


def _judged(claims: Claims, configuration: Configuration | None) -> list[Judgement]:
    from rich.progress import BarColumn, Progress, TextColumn, TimeRemainingColumn

    from cagematch.scheduler.solutions.verification import judgements

    console = notes()
    columns = (TextColumn("{task.description}", markup=False), BarColumn(), TimeRemainingColumn())
    with Progress(*columns, console=console, transient=True, disable=not console.is_terminal) as bars:
        found = judgements(claims, configuration)
        return list(bars.track(found, len(claims.found), description=f"checking {claims.source.name}"))
