"""Draw ``scheduler report`` as it looks on a terminal into an SVG file: ``scripts/report_picture.py docs/report.svg``.

It reports what the database of the working folder holds; run ``make demo`` first.
"""

from __future__ import annotations

import io
import re
import sys
from pathlib import Path

from rich.console import Console
from rich.terminal_theme import MONOKAI

from cagematch.models.engine import open_engine, reading
from cagematch.scheduler.reports import REPORTS
from cagematch.scheduler.reports.coverage import coverage
from cagematch.scheduler.reports.scope import scope
from cagematch.scheduler.reports.table import show
from cagematch.workers.connections import find_connections

FONT = re.compile(r"@font-face\s*{.*?}", re.DOTALL)  # they name a host elsewhere; a reader's own monospace does


def main(target: str) -> None:
    """Write the picture."""
    console = Console(record=True, width=100, file=io.StringIO(), force_terminal=True, highlight=False)
    with reading(open_engine(find_connections().database)) as connection:
        covered = scope(connection, [])
        console.print("[bold green]$[/] scheduler report")
        for line in coverage(connection, covered):
            console.print(line, markup=False)
        show(REPORTS["comparison"](connection, covered), console)
    svg = FONT.sub("", console.export_svg(title="Cagematch", theme=MONOKAI))
    Path(target).write_text(svg.replace("Fira Code, ", ""), encoding="utf-8")


if __name__ == "__main__":
    main(*sys.argv[1:])
