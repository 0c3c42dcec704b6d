"""The command ``report``."""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING

import typer

from cagematch.problems.errors import InputError
from cagematch.scheduler.cli import findings, options
from cagematch.scheduler.cli.connection import connect
from cagematch.scheduler.cli.output import notes, output

if TYPE_CHECKING:
    from sqlalchemy import Engine

    from cagematch.scheduler.cli.findings import Findings
    from cagematch.scheduler.reports.table import Table

COMPARISON = "comparison"
ALL_DISTURBED = "all of these runs were disturbed; `scheduler report` without --exclude-disturbed shows how"
EXAMPLES = ("scheduler report", "scheduler report --sort median_ms --format md")


@dataclass(frozen=True, slots=True)
class Content:
    """What the runs of a report show.

    Attributes
    ----------
    coverage
        Lines on the batches, limits and hosts covered, then warnings.
    compared
        The comparison of the runs to show.
    judged
        The comparison of all runs: a wrong answer is reported even where its run was disturbed.

    """

    coverage: list[str]
    compared: list[Table]
    judged: list[Table]
    found: list[Findings]


def report(
    batches: options.Comparable = None,
    name: options.TableName = None,
    form: options.TableFormat = "table",
    columns: options.Columns = None,
    sort: options.Sort = None,
    matching: options.Filter = None,
    exclude_disturbed: options.ExcludeDisturbed = False,
) -> None:
    """Compare configurations, set by set.

    For the tasks unique, count and repair, the report also lists what the runs find about puzzles.

    Without BATCH, the report covers the batches with the same task and limits as the latest one. Of each puzzle and
    configuration, the latest run counts. A note lists the batches that are excluded.

    The exit code is 1 if a run is wrong or failed, a puzzle of the task unique is not proper, or counts differ.
    """
    from cagematch.scheduler.batches.lookup import find_batch
    from cagematch.scheduler.reports.comparison import failures

    _check(form, name)
    _, engine = connect(reads_only=True)
    numbers = [find_batch(engine, word) for word in batches or []]
    content = _read(engine, numbers, name, exclude_disturbed=exclude_disturbed)
    for line in content.coverage:
        notes().print(line, style="yellow" if line.startswith("warning") else None)
    shown = _select(content.compared or content.found[0].tables, columns, sort, matching)
    _print(content, shown, form, numbers, all_tables=not (columns or sort or matching))
    if failed := failures(content.judged):
        runs = "1 run is" if failed == 1 else f"{failed:,} runs are"
        notes().print(f"{runs} WRONG or failed; `scheduler export runs.csv` lists their status", style="bold red")
    if findings.print_summaries(content.found) or failed:
        raise typer.Exit(1)


def _check(form: str, name: str | None) -> None:
    from cagematch.scheduler.reports import REPORTS
    from cagematch.scheduler.reports.formats import WRITERS

    if form != "table" and form not in WRITERS:
        raise InputError(f"found --format {form}, expected one of: table, {', '.join(WRITERS)}")
    if name is not None and name not in REPORTS:
        raise InputError(f"found --table {name}, expected one of: {', '.join(REPORTS)}")


def _read(engine: Engine, numbers: list[int], name: str | None, *, exclude_disturbed: bool) -> Content:
    """Compute the tables. Raises InputError where no run is left to show."""
    from cagematch.models.engine import reading
    from cagematch.scheduler.reports import REPORTS
    from cagematch.scheduler.reports.coverage import coverage
    from cagematch.scheduler.reports.disturbances import undisturbed
    from cagematch.scheduler.reports.scope import scope

    compare = REPORTS[COMPARISON]
    with reading(engine) as connection:
        whole = scope(connection, numbers)
        covered = undisturbed(connection, whole) if exclude_disturbed else whole
        lines = coverage(connection, covered)
        compared = compare(connection, covered) if name in (None, COMPARISON) else []
        judged = compare(connection, whole) if exclude_disturbed and compared else compared
        found = findings.findings(connection, whole, name)
    if not (lines and (compared or found)):
        raise InputError(ALL_DISTURBED if exclude_disturbed and covered.excludes_runs else _no_runs(numbers))
    return Content(lines, compared, judged, found)


def _no_runs(batches: list[int]) -> str:
    if batches:
        named = " and ".join(map(str, batches))
        return f"batch {named} has no runs yet; `scheduler status {batches[0]}` shows its progress"
    return "no runs are stored; `scheduler submit hard` creates some"


def _select(tables: list[Table], columns: str | None, sort: str | None, matching: str | None) -> list[Table]:
    from cagematch.scheduler.reports.table import chosen

    selected = [chosen(one, columns, sort, matching) for one in tables]
    shown = [one for one in selected if one.rows]
    if selected and not shown:
        raise InputError(f"no row matches --filter {matching}; the header of `--format csv` lists every key")
    return shown


def _print(content: Content, shown: list[Table], form: str, numbers: list[int], *, all_tables: bool) -> None:
    from cagematch.scheduler.cli.consoles import print_data
    from cagematch.scheduler.reports import table
    from cagematch.scheduler.reports.formats import WRITERS

    if form != "table":
        print_data(WRITERS[form](shown))
        return
    if not content.compared:
        findings.draw(content.found[0].name, shown, numbers)
        return
    table.show(shown, output())
    for one in content.found if all_tables else ():
        findings.draw(one.name, one.tables, numbers)
