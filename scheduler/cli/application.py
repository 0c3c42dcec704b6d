"""The Typer application: every command with its examples, in the order in which ``--help`` lists them."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import typer

from cagematch.scheduler.cli.batches import cancel, prune, rerun, resume, status, submit, watch
from cagematch.scheduler.cli.options import Debug, Version
from cagematch.scheduler.cli.results import export, report, show, verify
from cagematch.scheduler.cli.services import db, solvers, worker

Command = tuple[Callable[..., None], tuple[str, ...]]

COMMANDS: tuple[Command, ...] = (
    (submit.submit, submit.EXAMPLES),
    (status.status, status.EXAMPLES),
    (watch.watch, watch.EXAMPLES),
    (cancel.cancel, cancel.EXAMPLES),
    (resume.resume, resume.EXAMPLES),
    (rerun.rerun, rerun.EXAMPLES),
    (report.report, report.EXAMPLES),
    (export.export, export.EXAMPLES),
    (show.show, show.EXAMPLES),
    (verify.verify, verify.EXAMPLES),
    (prune.prune, prune.EXAMPLES),
    (solvers.solvers, solvers.EXAMPLES),
    (worker.worker, worker.EXAMPLES),
)
DATABASE: tuple[Command, ...] = ((db.upgrade, db.UPGRADE_EXAMPLES), (db.check, db.CHECK_EXAMPLES))
EXAMPLES = ("scheduler submit hard", "scheduler report")
# Lines after \b are printed as they are, not wrapped into a paragraph.
EXIT_CODES = """\b
Exit codes:
  0    success
  1    a run or a result is wrong or failed
  2    invalid usage or input, or a service is unreachable
  130  interrupted"""


def make_application() -> typer.Typer:
    """Build the application with all commands."""
    app = _group(
        name="scheduler",
        help="Run constraint solvers on batches of puzzles and compare them.",
        epilog=f"{_examples(EXAMPLES)}\n\n{EXIT_CODES}",
        add_completion=False,
        pretty_exceptions_enable=False,
        context_settings={"help_option_names": ["-h", "--help"]},
    )
    app.callback()(_root)
    _register(app, COMMANDS)
    database = _group(help="Create, upgrade or check the database tables.", epilog=_examples(db.EXAMPLES))
    _register(database, DATABASE)
    app.add_typer(database, name="db")
    return app


def _group(**settings: Any) -> typer.Typer:
    return typer.Typer(no_args_is_help=True, rich_markup_mode=None, **settings)


def _register(app: typer.Typer, commands: tuple[Command, ...]) -> None:
    for function, examples in commands:
        app.command(epilog=_examples(examples))(function)


def _examples(lines: tuple[str, ...]) -> str:
    return "\n".join(("\b", "Examples:", *(f"  {line}" for line in lines)))


def _root(debug: Debug = False, version: Version = False) -> None:
    """Declare the options that precede a command."""
