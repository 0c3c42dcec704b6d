"""Arguments and options of the commands, each declared once as an annotated type.

A help text names the value. Typer adds the default; ``show_default`` states it where the code computes it.
"""

from __future__ import annotations

from typing import Annotated

import typer

from cagematch.problems.outcome import Task as TaskName
from cagematch.scheduler.batches.bounds import LARGEST_SEED, MOST_SOLUTIONS, PRIORITIES


def _print_version(requested: bool) -> None:
    if requested:
        from cagematch import __version__

        typer.echo(f"cagematch {__version__}")
        raise typer.Exit


Debug = Annotated[bool, typer.Option("--debug", help="Show tracebacks.")]
Version = Annotated[
    bool, typer.Option("--version", help="Print the version and exit.", callback=_print_version, is_eager=True)
]

# Batches
Batch = Annotated[
    str | None, typer.Argument(metavar="BATCH", help="Number or name of a batch.", show_default="the latest")
]
OneOrAll = Annotated[
    str | None,
    typer.Argument(metavar="BATCH", help="Number or name of a batch.", show_default="the latest 20 batches"),
]
Comparable = Annotated[
    list[str] | None,
    typer.Argument(
        metavar="BATCH",
        help="Numbers or names of batches.",
        show_default="the latest runs of comparable batches",
    ),
]
Finished = Annotated[
    list[str] | None, typer.Argument(metavar="BATCH", help="Numbers or names of finished batches.", show_default=False)
]
Wait = Annotated[bool, typer.Option("--wait", help="Show progress until the batch ends; always on without a broker.")]

# submit
Files = Annotated[
    list[str] | None,
    typer.Argument(
        metavar="FILE|SET|EXPERIMENT.toml",
        help="Puzzle files, names of shipped sets, or - for standard input; or one experiment file.",
    ),
]
Solvers = Annotated[
    list[str] | None,
    typer.Option(
        "-s",
        "--solver",
        metavar="CONFIG",
        help="Configuration, preset, sweep (var=*) or @group; repeatable. `scheduler solvers` lists them.",
        show_default="@default",
    ),
]
Task = Annotated[
    TaskName,
    typer.Option(
        help="solve: find a solution. unique: decide whether there is exactly one. count: count all solutions. "
        "repair: change as few clues as possible so that a solution exists."
    ),
]
Bound = Annotated[
    int,
    typer.Option(
        metavar="N", min=1, max=MOST_SOLUTIONS, help="Number of solutions at which --task count stops counting."
    ),
]
Timeout = Annotated[str, typer.Option(metavar="TIME", help="Wall time per run, such as 500ms, 3s or 2m.")]
Memory = Annotated[str, typer.Option(metavar="SIZE", help="Resident memory per run, such as 512MiB or 2GiB.")]
Repeat = Annotated[
    int, typer.Option(metavar="N", min=1, help="Runs per puzzle and configuration, each with its own seed.")
]
Seed = Annotated[
    int,
    typer.Option(metavar="N", min=0, max=LARGEST_SEED, help="Seed for the order of the puzzles and for the solvers."),
]
Permute = Annotated[
    bool,
    typer.Option(
        "--permute",
        help="Run each repeat of a Sudoku under a different symmetry: digits renamed, rows and columns permuted.",
    ),
]
Limit = Annotated[
    int | None,
    typer.Option(
        metavar="N",
        min=0,
        help="Number of puzzles to run from the start of each set; 0 stores the sets without running them.",
        show_default="all",
    ),
]
Priority = Annotated[
    int,
    typer.Option(
        metavar="N",
        min=PRIORITIES[0],
        max=PRIORITIES[1],
        help="Priority of the batch. Higher-priority batches run first.",
    ),
]
Name = Annotated[str | None, typer.Option(metavar="TEXT", help="Name of the batch.")]
Kind = Annotated[
    str | None,
    typer.Option(metavar="KIND", help="Kind of puzzle in files that do not declare one.", show_default="sudoku"),
]
FileFormat = Annotated[
    str | None,
    typer.Option(
        "--format", metavar="FORMAT", help="Format of the files: lines, grid or jsonl.", show_default="detected"
    ),
]
SkipInvalid = Annotated[
    bool, typer.Option("--skip-invalid", help="Skip invalid puzzles instead of rejecting the file.")
]
To = Annotated[
    str | None,
    typer.Option("--to", metavar="BATCH", help="Batch to add the configurations to; its unfinished runs resume."),
]

# prune
OlderThan = Annotated[
    float | None,
    typer.Option("--older-than", metavar="DAYS", min=0, help="Also batches that finished more than DAYS days ago."),
]
Unused = Annotated[bool, typer.Option("--unused", help="Also sets and puzzles that no remaining batch uses.")]
Yes = Annotated[bool, typer.Option("--yes", help="Delete; without it, list what would be deleted.")]

# report, export, show, verify
TableName = Annotated[
    str | None,
    typer.Option(
        "--table",
        metavar="NAME",
        help="comparison: configurations. improper: puzzles without exactly one solution. counts: solutions per "
        "puzzle. repairs: clues to change.",
        show_default="comparison, then the table of the task",
    ),
]
TableFormat = Annotated[
    str, typer.Option("--format", metavar="FORMAT", help="Format of the tables: table, csv, json or md.")
]
Columns = Annotated[
    str | None,
    typer.Option(
        metavar="KEY,KEY…",
        help="Columns to show. The header of `--format csv` lists every key.",
        show_default="those that fit",
    ),
]
Sort = Annotated[str | None, typer.Option(metavar="KEY", help="Column to sort by; -KEY reverses the order.")]
Filter = Annotated[
    str | None, typer.Option("--filter", metavar="KEY=WORD", help="Show only rows whose column KEY matches WORD.")
]
ExcludeDisturbed = Annotated[
    bool,
    typer.Option(
        "--exclude-disturbed",
        help="Exclude disturbed runs: measured under contention, or on a core slower than its best.",
    ),
]
ExportFile = Annotated[
    list[str] | None,
    typer.Argument(metavar="[BATCH]... FILE", help="FILE.csv or FILE.jsonl, or - for standard output."),
]
ExportFormat = Annotated[
    str | None,
    typer.Option(
        "--format",
        metavar="FORMAT",
        help="Format of the runs: csv or jsonl.",
        show_default="from the name of the file",
    ),
]
ExperimentOf = Annotated[
    str | None,
    typer.Option(
        "--experiment",
        metavar="BATCH",
        help="Export BATCH as an experiment file (.toml) that `scheduler submit` can run again.",
    ),
]
PuzzleOrRun = Annotated[
    str,
    typer.Argument(
        metavar="PUZZLE|RUN", help="Number of a run, SET:N, the start of a fingerprint, or the text of a puzzle."
    ),
]
Models = Annotated[
    list[str] | None,
    typer.Option(
        "--model",
        metavar="CONFIG",
        help="Configuration whose model of the puzzle is measured, without solving it; repeatable.",
    ),
]
Claimed = Annotated[
    list[str],
    typer.Argument(metavar="FILE|SET", help="Puzzles with solutions, an exported file, or - for standard input."),
]
By = Annotated[
    list[str] | None,
    typer.Option("--by", metavar="CONFIG", help="Configuration whose model also checks each solution."),
]
Json = Annotated[bool, typer.Option("--json", help="Print JSON.")]
JsonLines = Annotated[bool, typer.Option("--json", help="Print one line of JSON per solution.")]

# worker
Pools = Annotated[
    list[str],
    typer.Option("--pool", metavar="POOL", help="Pool to serve: cp-sat, legacy-cp, mip, other or all; repeatable."),
]
Slots = Annotated[
    int | None,
    typer.Option(metavar="N", min=1, help="Number of runs at the same time.", show_default="one per usable core"),
]
Cores = Annotated[
    str | None,
    typer.Option(
        metavar="LIST",
        help="Cores for the runs, such as 0-3 or 0,2-3; see docs/measuring.md.",
        show_default="chosen from this process's affinity",
    ),
]
LogLevel = Annotated[str, typer.Option(metavar="LEVEL", help="Log level: DEBUG, INFO, WARNING or ERROR.")]
