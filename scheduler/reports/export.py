"""Export of raw runs, one row per run, as CSV or JSON lines."""

from __future__ import annotations

import csv
import json
from collections.abc import Iterable
from pathlib import Path
from typing import Any, TextIO

from cagematch.problems.errors import InputError
from cagematch.scheduler.reports.formats import safe

COLUMNS = (
    "batch",
    "set",
    "kind",
    "puzzle",
    "label",
    "configuration",
    "task",
    "repeat",
    "status",
    "answer",
    "stop",
    "verdict",
    "build_s",
    "solve_s",
    "wall_s",
    "cpu_s",
    "peak_mib",
    "variables",
    "constraints",
    "solution",
    "second",
    "count",
    "complete",
    "changes",
    "verified",
    "host",
    "run",
    "seed",
    "baseline_mib",
    "threads",
    "cores",
    "reference_s",
    "counters",
    "signal",
    "detail",
    "finished_at",
)


def format_of(name: str) -> str:
    """Return the format, ``csv`` or ``jsonl``, of a file name.

    Raises
    ------
    InputError
        The name has another suffix, or none.
    """
    suffix = Path(name).suffix.lower()
    if not suffix:
        hint = f"to export batch {name}: `scheduler export {name} runs.csv`"
        raise InputError(f"found {name!r}, expected a file with the suffix .csv or .jsonl; {hint}")
    if suffix not in (".csv", ".jsonl"):
        raise InputError(f"{name!r} has the suffix {suffix!r}, expected .csv or .jsonl")
    return suffix[1:]


def write_csv(rows: Iterable[dict[str, Any]], out: TextIO) -> int:
    """Write a heading and the rows as CSV, with untrusted texts escaped so that none is a formula.

    Returns
    -------
    int
        The number of rows.
    """
    writer = csv.writer(out, lineterminator="\n")
    writer.writerow(COLUMNS)
    count = 0
    for row in rows:
        cells = {**row, "counters": json.dumps(row["counters"]) if row["counters"] else None}
        writer.writerow([safe(cells[c]) for c in COLUMNS])
        count += 1
    return count


def write_jsonl(rows: Iterable[dict[str, Any]], out: TextIO) -> int:
    """Write one JSON object per row and line.

    Returns
    -------
    int
        The number of rows.
    """
    count = 0
    for row in rows:
        out.write(json.dumps({c: row[c] for c in COLUMNS}, ensure_ascii=False) + "\n")
        count += 1
    return count


WRITERS = {"csv": write_csv, "jsonl": write_jsonl}
