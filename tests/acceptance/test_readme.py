"""The documentation as a whole: its links lead somewhere, and README.md stays short and complete."""

from __future__ import annotations

import re
import subprocess
from pathlib import Path

import pytest
from commanding import ROOT

LINK = re.compile(r"!?\[[^\]]*\]\(([^)\s]+)\)")
CODE = re.compile(r"^```.*?^```$|^ {4}[^\n]*$", re.DOTALL | re.MULTILINE)
HEADING = re.compile(r"^#+ +(.*)$", re.MULTILINE)
COMMANDS = ("docker compose up", "scheduler submit puzzles/hard.txt", "scheduler report", "make demo", "make test")
MOST_WORDS = 900


def pages() -> list[Path]:
    """Every page in the project, but for those in folders that Git ignores."""
    if (ROOT / ".git").exists():
        listed = subprocess.run(
            ["git", "ls-files", "--cached", "--others", "--exclude-standard", "--", "*.md"],
            cwd=ROOT,
            capture_output=True,
            text=True,
            check=True,
        ).stdout.split("\n")
        return [ROOT / name for name in filter(None, listed) if (ROOT / name).exists()]
    return [*ROOT.glob("*.md"), *(ROOT / "docs").rglob("*.md"), *ROOT.glob("*/README.md")]


def anchors(page: Path) -> set[str]:
    """The names that GitHub gives to the headings of a page."""
    headings = HEADING.findall(re.sub(r"^```.*?^```$", "", page.read_text(), flags=re.DOTALL | re.MULTILINE))
    return {re.sub(r"[^\w\- ]", "", heading.lower()).strip().replace(" ", "-") for heading in headings}


@pytest.mark.parametrize("page", pages(), ids=lambda page: str(page.relative_to(ROOT)))
def test_every_relative_link_leads_to_a_file_and_a_heading(page: Path):
    broken = []
    for link in LINK.findall(CODE.sub("", page.read_text())):
        if re.match(r"[a-z]+:", link):
            continue
        name, _, anchor = link.partition("#")
        target = (page.parent / name) if name else page
        if not target.exists() or (anchor and anchor not in anchors(target)):
            broken.append(link)

    assert not broken


def test_readme_is_short_and_has_the_commands_that_always_work():
    text = (ROOT / "README.md").read_text()
    lines = [line.split("#")[0].strip() for line in text.splitlines()]

    assert len(text.split()) <= MOST_WORDS
    assert [command for command in COMMANDS if command not in lines] == []
