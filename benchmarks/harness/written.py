"""The committed results: one section for all figures, and one for each later run with ``--only``."""

from __future__ import annotations

from pathlib import Path

RESULTS = Path(__file__).parents[1] / "results.md"
EVERYTHING = "Everything"
HEAD = """# The latest committed results

Each figure has the median of the pairs, the lowest and highest ratio, and the target. The next two lines have the
median rate of each side and its command. [README.md](README.md) describes the measurement. A section for some figures
is newer than the first section and replaces its values.
"""
MARK = "\n## "


def write(only: str, command: str, output: str, path: Path = RESULTS) -> None:
    """Replace the section of the figures ``only``, or all sections when ``only`` is empty."""
    title = f"`{only}`" if only else EVERYTHING
    kept = {} if not only else sections(path)
    kept[title] = f"{command}\n\n```text\n{output}\n```"
    body = "".join(f"{MARK}{name}\n\n{text}\n" for name, text in kept.items())
    path.write_text(HEAD + body, encoding="utf-8")


def sections(path: Path) -> dict[str, str]:
    """Return the sections of a file, by title."""
    _, *found = path.read_text(encoding="utf-8").split(MARK)
    parts = (section.partition("\n") for section in found)
    return {title: text.strip() for title, _, text in parts}
