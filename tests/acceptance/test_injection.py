"""Names and labels of puzzle files have no effect in a spreadsheet, a web page or a terminal."""

from __future__ import annotations

import csv
import io
import json
import os
import pty
import re
import subprocess
from functools import partial

import pytest
from commanding import make_scheduler

NAME = '=HYPERLINK("x")\r\n| <script>alert(1)<!--\x1b]0;owned\x07'
LABELS = (
    "=cmd|' /C calc'!A0",
    "+1+1",
    "-2+3",
    "@SUM(1)",
    "\t=1",
    "\r=1",
    "\n=1",
    "\N{FULLWIDTH EQUALS SIGN}1",
    "<script>alert(1)</script>",
    "\x1b[2J\x9b2J",
    "\0 and half a character: \ud83d",
    "\u202eturned around\u2066",
)
PUZZLE = {"n": 4, "cages": [{"cells": [[0, 0], [0, 1]], "sum": 3}]}
COMPUTED = re.compile(r"\s*[=+\-@\N{FULLWIDTH EQUALS SIGN}]")
# All control characters except the line feed, and all characters that change the writing direction.
STEERING = re.compile("[\x00-\x09\x0b-\x1f\x7f-\x9f\u202a-\u202e\u2066-\u2069]")


@pytest.fixture(scope="module")
def scheduler(tmp_path_factory):
    folder = tmp_path_factory.mktemp("injection") / "work"
    folder.mkdir()
    made = make_scheduler(folder)
    texts = [
        json.dumps({"label": label, **PUZZLE, "givens": f"{at:0>16b}".replace("1", "0")})
        for at, label in enumerate(LABELS)
    ]
    (folder / f"{NAME}.jsonl").write_text("\n".join(texts))
    made("submit", f"{NAME}.jsonl", "-s", "cp-min-size")
    yield made
    made.close()


@pytest.mark.parametrize("words", [("export", "-"), ("report", "--format", "csv")], ids=["export", "report"])
def test_csv_contains_no_formula(scheduler, words):
    """No cell of a CSV file is a formula."""
    found = list(csv.reader(io.StringIO(scheduler(*words).stdout, newline="")))

    assert len(found) >= 2
    assert not [cell for row in found for cell in row if COMPUTED.match(cell)]


def test_markdown_is_escaped(scheduler):
    """Markdown contains no tag, and no text breaks a table."""
    lines = scheduler("report", "--format", "md").stdout.splitlines()

    assert not [line for line in lines if re.search(r"(?<!\\)<", line)]
    assert lines[0].startswith("### ")
    assert [line[:1] for line in lines[1:5]] == ["", "|", "|", "|"]


@pytest.mark.slow
def test_terminal_output_has_no_control_characters(scheduler):
    said = [scheduler(*words).text for words in (("report",), ("status",), ("show", "1"))]
    (scheduler.folder / "plain.jsonl").write_text(json.dumps({"label": LABELS[-1], **PUZZLE}))
    said += [scheduler("submit", "plain.jsonl", "-s", "cp-min-size").text, scheduler("show", "plain:1").text]
    said += [scheduler("submit", "\x1b[2J.txt", code=2).text]

    assert not [text for text in said if STEERING.search(text)]


@pytest.mark.parametrize(
    "words", [("export", "-"), ("export", "-", "--format", "jsonl"), ("report", "1", "--format", "md")], ids=" ".join
)
def test_machine_output_has_no_control_characters(scheduler, words):
    ours, theirs = pty.openpty()
    with subprocess.Popen(
        [*scheduler.command, *words],
        cwd=scheduler.folder,
        env=scheduler.environment,
        stdout=theirs,
        stderr=subprocess.DEVNULL,
    ) as process:
        os.close(theirs)
        said = b"".join(iter(partial(_read, ours), b"")).decode()
    os.close(ours)

    assert process.returncode == 0, said
    assert "killer" in said or "cp-min-size" in said
    assert not STEERING.search(said.replace("\r\n", "\n"))  # the line end of the terminal


def _read(terminal):
    try:
        return os.read(terminal, 1 << 16)
    except OSError:  # the command has closed its end
        return b""
