"""Run the commands in the documentation, and rewrite the output that it shows below them.

    python scripts/doc_outputs.py README.md docs/guide/*.md

A page is run from top to bottom in a folder of its own, which holds the folder `puzzles`:

=======================  ==========================================================================
```` ```sh ````          commands; the block runs as one script
```` ```console ````     commands after ``$``, and the standard output of each below it
```` ```text name ````   any language and a file name: the block is written to that file
other blocks             are not run
=======================  ==========================================================================

A command fails the page unless its exit code is 0 or the next command is ``echo $?``.
"""

from __future__ import annotations

import re
import shlex
import shutil
import subprocess
import sys
import tempfile
from collections.abc import Iterator
from dataclasses import dataclass
from pathlib import Path

ROOT = Path(__file__).resolve().parent.parent
sys.path.insert(0, str(ROOT / "tests"))

from commanding import make_scheduler  # noqa: E402

BLOCK = re.compile(r"^```(?P<language>\w+) ?(?P<path>\S*)\n(?P<body>.*?)^```$", re.DOTALL | re.MULTILINE)
PROMPT = "$ "
WIDTH = 100
EXIT_CODE = "echo $?"
END = "\x1e"  # the ASCII record separator: no command prints it


@dataclass(frozen=True)
class Command:
    """A command of a console block, and its standard output."""

    text: str
    output: str

    def __str__(self) -> str:
        return f"{PROMPT}{self.text}\n{self.output}"


def commands(body: str) -> list[Command]:
    """The commands of a console block with the output that it shows."""
    parts = re.split(r"^\$ ", body, flags=re.MULTILINE)[1:]
    found = [re.match(r"((?:[^\n]*\\\n)*[^\n]*)\n(.*)", part, re.DOTALL) for part in parts]
    return [Command(match[1], match[2]) for match in found if match]


def run_page(text: str, folder: Path) -> Iterator[tuple[re.Match[str], list[Command]]]:
    """Run a page in a folder; yield each console block and its commands with their present output."""
    environment = _prepare(folder)
    for block in BLOCK.finditer(text):
        if block["path"]:
            (folder / block["path"]).write_text(block["body"], encoding="utf-8")
        elif block["language"] == "sh":
            _run(f"set -e\n{block['body']}", folder, environment)
        elif block["language"] == "console":
            yield block, _run_console(commands(block["body"]), folder, environment)


def refreshed(text: str, folder: Path) -> str:
    """The page with the present output in its console blocks."""
    end, parts = 0, []
    for block, present in run_page(text, folder):
        parts += [text[end : block.start("body")], *map(str, present)]
        end = block.end("body")
    return "".join([*parts, text[end:]])


def _prepare(folder: Path) -> dict[str, str]:
    """Fill the folder, and return an environment in which the commands are found."""
    scheduler = make_scheduler(folder)
    programs = folder.parent / f"{folder.name}-bin"
    programs.mkdir()
    python = shlex.quote(sys.executable)
    for name, line in {
        "scheduler": f'exec {shlex.join(scheduler.command)} "$@"',
        "python": f'exec {python} "$@"',
        "celery": f'exec {python} -m celery "$@"',
        "mail": "cat > mail.txt",  # no letter leaves the folder
    }.items():
        (programs / name).write_text(f"#!/bin/sh\n{line}\n", encoding="utf-8")
        (programs / name).chmod(0o755)
    shutil.copytree(ROOT / "puzzles", folder / "puzzles")
    return scheduler.environment | {
        "PATH": f"{programs}:{scheduler.environment['PATH']}",
        "COLUMNS": str(WIDTH),
    }


def _run_console(listed: list[Command], folder: Path, environment: dict[str, str]) -> list[Command]:
    separated = "".join(f"{one.text}\n(code=$?; printf '{END}%s{END}' $code; exit $code)\n" for one in listed)
    parts = _run(separated + "exit 0", folder, environment).split(END)
    present = []
    following = [*(one.text for one in listed[1:]), ""]
    for one, output, code, after in zip(listed, parts[::2], parts[1::2], following, strict=False):
        if code != "0" and after != EXIT_CODE:
            raise RuntimeError(f"exit code {code}: {one.text}\n{output}")
        lines = "".join(f"{line.rstrip()}\n" for line in output.rstrip().splitlines())
        present.append(Command(one.text, lines))
    return present


def _run(script: str, folder: Path, environment: dict[str, str]) -> str:
    done = subprocess.run(
        ["bash", "-c", script], cwd=folder, env=environment, capture_output=True, text=True, check=False
    )
    if done.returncode:
        raise RuntimeError(f"exit code {done.returncode}:\n{script}\n{done.stdout}{done.stderr}")
    return done.stdout


def main(*pages: str) -> None:
    """Rewrite the pages in place."""
    for page in map(Path, pages):
        with tempfile.TemporaryDirectory() as parent:
            folder = Path(parent) / "work"
            folder.mkdir()
            page.write_text(refreshed(page.read_text(encoding="utf-8"), folder), encoding="utf-8")


if __name__ == "__main__":
    main(*sys.argv[1:])
