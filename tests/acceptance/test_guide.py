"""README.md and the guides: their commands run as written, and print what the pages show.

A page runs in an empty folder with the shipped puzzles. Blocks marked ``sh`` and ``console`` run. Blocks marked
``bash`` do not, as they need what a test must not touch: ``make demo`` and ``make test`` install an environment,
``docker compose`` needs a Docker engine, ``scheduler worker`` needs Redis and PostgreSQL and runs until it is stopped,
``systemctl`` and ``crontab`` change the machine. `test_compose.py` and `test_distributed.py` cover the first and the
third; the systemd units and the calendar are checked here where ``systemd-analyze`` is installed.

Times differ from run to run, so an output is compared by its headings and by the first word of each row.
"""

from __future__ import annotations

import re
import shutil
import subprocess
import sys
from configparser import ConfigParser
from importlib.util import module_from_spec, spec_from_file_location
from pathlib import Path

import pytest
from commanding import ROOT

pytestmark = pytest.mark.slow

SPEC = spec_from_file_location("doc_outputs", ROOT / "scripts" / "doc_outputs.py")
doc_outputs = module_from_spec(SPEC)
sys.modules["doc_outputs"] = doc_outputs
SPEC.loader.exec_module(doc_outputs)

PAGES = [ROOT / "README.md", *sorted((ROOT / "docs" / "guide").glob("*.md"))]
NIGHTLY = ROOT / "docs" / "guide" / "check-a-book-every-night.md"
HEADINGS = ("backend", "configuration", "constraint", "place", "run", "set")
UNIT = re.compile(r"^```ini (\S+)\n(.*?)^```$", re.DOTALL | re.MULTILINE)


def structure(output: str) -> list[str]:
    """The lines of an output that no measurement changes: headings, and of a row the first word; best comes first."""
    found = []
    for line in filter(str.strip, output.splitlines()):
        words = re.sub(r"[0-9]+", "0", line).split()
        found.append(" ".join(words) if words[0] in HEADINGS else words[0])
    return sorted(found)


@pytest.mark.parametrize("page", PAGES, ids=lambda page: page.stem)
def test_commands_print_what_the_page_shows(page: Path, tmp_path: Path):
    folder = tmp_path / "work"
    folder.mkdir()

    blocks = list(doc_outputs.run_page(page.read_text(), folder))

    assert blocks
    for block, present in blocks:
        for shown, printed in zip(doc_outputs.commands(block["body"]), present, strict=True):
            assert structure(shown.output) == structure(printed.output), f"{shown.text}\n{printed.output}"


def test_a_page_is_refreshed_in_place(tmp_path: Path):
    page = "Text.\n\n```text name.txt\nBob\n```\n\n```console\n$ cat name.txt\nAlice\n$ false\n$ echo $?\n```\n\nEnd.\n"

    assert doc_outputs.refreshed(page, _empty(tmp_path / "one")) == page.replace("Alice", "Bob").replace(
        "?\n", "?\n1\n"
    )
    with pytest.raises(RuntimeError, match="exit code 1: false"):
        doc_outputs.refreshed(page.replace("$ echo $?\n", ""), _empty(tmp_path / "two"))


def test_the_units_of_the_nightly_check_are_valid(tmp_path: Path):
    units = dict(UNIT.findall(NIGHTLY.read_text()))
    assert sorted(units) == ["check-book.service", "check-book.timer"]
    for name, text in units.items():
        parsed = ConfigParser()
        parsed.optionxform = str
        parsed.read_string(text)
        assert parsed.sections()
        (tmp_path / name).write_text(re.sub(r"(?m)^ExecStart=.*", "ExecStart=/bin/true", text))

    if not shutil.which("systemd-analyze"):
        pytest.skip("systemd-analyze is not installed; the units were only parsed")
    calendar = re.search(r"(?m)^OnCalendar=(.*)", units["check-book.timer"])[1]
    for words in (["calendar", calendar], ["verify", *(str(tmp_path / name) for name in units)]):
        done = subprocess.run(["systemd-analyze", *words], capture_output=True, text=True, check=False)
        assert done.returncode == 0, done.stderr
        assert "check-book" not in done.stderr


def test_the_crontab_line_has_five_fields_and_a_command():
    (line,) = re.findall(r"(?m)^```crontab\n(.*)\n```$", NIGHTLY.read_text())

    *when, command = line.split(maxsplit=5)

    assert all(re.fullmatch(r"[0-9*,/-]+", field) for field in when)
    assert command.endswith("sh /srv/book/check-book")


def _empty(folder: Path) -> Path:
    folder.mkdir(parents=True)
    return folder
