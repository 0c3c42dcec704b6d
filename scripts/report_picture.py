"""Draw the output of ``scheduler report`` on a terminal as an SVG file.

    python scripts/report_picture.py docs/report.svg

The report is about the database of the working folder, so run ``make demo`` first.
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

# Web fonts, which a picture should not download; the viewer's monospace font replaces them.
FONT = re.compile(r"@font-face\s*{.*?}", re.DOTALL)


def main(target: str) -> None:
    """Write the picture to ``target``."""
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
