"""The command ``verify``."""

from __future__ import annotations

import json
import os
import sys
from typing import TYPE_CHECKING

import typer

from cagematch.problems.errors import FileError, InputError
from cagematch.scheduler.cli import options
from cagematch.scheduler.cli.output import notes, output

if TYPE_CHECKING:
    from cagematch.scheduler.solutions.claims import Claims
    from cagematch.scheduler.solutions.verification import Judgement
    from cagematch.workers.configurations import Configuration

EXAMPLES = ("scheduler export runs.csv", "scheduler verify runs.csv --by cp-sat")


def verify(
    files: options.Claimed,
    by: options.By = None,
    kind: options.Kind = None,
    as_json: options.JsonLines = False,
) -> None:
    """Check solutions against the rules of their puzzles.

    Reports which rule a wrong solution breaks, and where. A file contains JSON lines with the field "solution",
    a table with the columns puzzle and solution, or lines with a puzzle and its solution.

    The exit code is 1 if a solution is wrong, or if the configuration of --by disagrees or gives no answer.
    """
    from cagematch.problems.kinds import kind_named
    from cagematch.scheduler.solutions.verification import require_handled

    if kind is not None:
        kind_named(kind)
    if by and len(by) > 1:
        raise InputError(
            f"found --by {len(by)} times, expected one configuration, as solvers may not share a process; "
            "run `scheduler verify` once for each"
        )
    configuration = _configuration(by[0]) if by else None
    loaded = _load(files, kind)
    if configuration:
        for claims in loaded:
            require_handled(configuration, claims)
    confirmed = [_confirmed(claims, configuration, as_json=as_json) for claims in loaded]
    if not all(confirmed):
        raise typer.Exit(1)


def _configuration(word: str) -> Configuration:
    from cagematch.scheduler.cli.requirements import require_installed
    from cagematch.workers.configurations import configuration

    _reserve_output()
    found = configuration(word)
    require_installed([found.backend])
    return found


def _reserve_output() -> None:
    """Keep solvers away from standard output: some print banners, a few of them as the process ends."""
    from cagematch.scheduler.cli.consoles import silence

    reserved = os.dup(sys.stdout.fileno())
    silence(sys.stdout)
    sys.stdout = open(reserved, "w", encoding=sys.stdout.encoding, errors=sys.stdout.errors)  # noqa: PTH123, SIM115


def _load(words: list[str], kind: str | None) -> list[Claims]:
    """Read every file before checking any. Raises FileError with the faults of all files."""
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


def _confirmed(claims: Claims, configuration: Configuration | None, *, as_json: bool) -> bool:
    """Check the solutions of a file and print the results; return whether all are correct and confirmed by --by."""
    from cagematch.scheduler.solutions.verification import as_object, description, summary

    by = configuration.text if configuration else None
    judged = _judged(claims, configuration)
    for judgement in judged:
        if as_json:
            typer.echo(json.dumps(as_object(claims, judgement, by)))
        elif not judgement.fine:
            style = "red" if judgement.agreed in (None, True) else "bold red"
            output().print(description(claims, judgement, by), style=style)
    confirmed = all(judgement.fine for judgement in judged)
    (notes() if as_json else output()).print(summary(claims, judged, by), style=None if confirmed else "bold red")
    return confirmed


def _judged(claims: Claims, configuration: Configuration | None) -> list[Judgement]:
    from rich.progress import BarColumn, Progress, TextColumn, TimeRemainingColumn

    from cagematch.scheduler.solutions.verification import judgements

    console = notes()
    columns = (TextColumn("{task.description}", markup=False), BarColumn(), TimeRemainingColumn())
    with Progress(*columns, console=console, transient=True, disable=not console.is_terminal) as bars:
        found = judgements(claims, configuration)
        return list(bars.track(found, len(claims.found), description=f"checking {claims.source.name}"))
