"""Write the Markdown reference of the command line: ``scripts/cli_reference.py docs/cli.md``.

With ``--check``, nothing is written, and the exit code is 1 when the file differs from the current commands.
"""

from __future__ import annotations

import argparse
import re
import sys
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import typer

from cagematch.scheduler.cli import make_application

HEADER = """# Command-line reference

This page is generated from the commands; `make docs` regenerates it. Every command accepts `-h` and `--help`.
"""
PLAIN = "\b"  # starts a block of the epilog that is printed without wrapping
TYPE = re.compile(r" <\S+>$")  # Typer appends it to the name of an argument
DETAILS = re.compile(r"(?:^|  )\[([^\[\]]*)\]$")  # default, range and "required" after a help text
Entry = tuple[Any, Any]  # a command and its context


def main(words: list[str] | None = None) -> str | None:
    """Write or check the reference; return what is wrong with the file."""
    parser = argparse.ArgumentParser(description="Write the Markdown reference of the command line.")
    parser.add_argument("file", type=Path, help="Markdown file to write, such as docs/cli.md.")
    parser.add_argument("--check", action="store_true", help="Compare the file with the commands instead of writing.")
    arguments = parser.parse_args(words)
    text = reference()
    if not arguments.check:
        arguments.file.write_text(text, encoding="utf-8")
    elif not arguments.file.exists() or arguments.file.read_text(encoding="utf-8") != text:
        return f"{arguments.file} differs from the current commands; run `make docs`"
    return None


def reference() -> str:
    """Return the whole page."""
    root = typer.main.get_command(make_application())
    entries = list(_walk(root, root.name, None))
    contents = [
        f"| [`{context.command_path}`](#{context.command_path.replace(' ', '-')}) | {_paragraphs(command.help)[0]} |"
        for command, context in entries
        if context.parent
    ]
    table = "\n".join(["| Command | Description |", "|---|---|", *contents])
    return "\n".join([HEADER, _section(*entries[0]), table, "", *(_section(*entry) for entry in entries[1:])])


def _walk(command: Any, name: str | None, parent: Any) -> Iterator[Entry]:
    context = typer.Context(command, info_name=name, parent=parent, **command.context_settings)
    yield command, context
    if hasattr(command, "list_commands"):
        for child in command.list_commands(context):
            yield from _walk(command.get_command(context, child), child, context)


def _section(command: Any, context: Any) -> str:
    usage = " ".join([context.command_path, *command.collect_usage_pieces(context)])
    parts = [f"## {context.command_path}", *_paragraphs(command.help), _fenced(usage)]
    parameters = [one for one in command.get_params(context) if context.parent is None or one.name != "help"]
    for title, kind in (("Argument", "argument"), ("Option", "option")):
        if rows := [_row(one, context) for one in parameters if one.param_type_name == kind]:
            parts.append("\n".join([f"| {title} | Description | Default |", "|---|---|---|", *rows]))
    for block in filter(None, (command.epilog or "").split(PLAIN)):
        title, *lines = block.strip().splitlines()
        parts += [title, _fenced("\n".join(line.removeprefix("  ") for line in lines))]
    return "\n\n".join(parts) + "\n"


def _paragraphs(text: str | None) -> list[str]:
    return [" ".join(paragraph.split()) for paragraph in (text or "").split("\n\n")]


def _fenced(text: str) -> str:
    return f"```text\n{text}\n```"


def _row(parameter: Any, context: Any) -> str:
    """Return ``| `--limit N` | Number of puzzles. Range: `x>=0`. | all |``."""
    name, text = parameter.get_help_record(context)
    details = DETAILS.search(text)
    default, ranges = "", []
    for detail in details[1].split("; ") if details else ():
        if detail == "required":
            default = "required"
        elif detail.startswith("default: "):
            default = _default(detail.removeprefix("default: "))
        else:
            ranges.append(f"Range: `{detail}`.")
    cells = [f"`{TYPE.sub('', name) if parameter.param_type_name == 'argument' else name}`"]
    cells += [" ".join([text[: details.start()] if details else text, *ranges]), default]
    return "| " + " | ".join(cell.replace("|", r"\|") for cell in cells) + " |"


def _default(text: str) -> str:
    """Return a value as code, and a description, which Typer puts in parentheses, as text."""
    return text[1:-1] if text.startswith("(") else f"`{text}`"


if __name__ == "__main__":
    sys.exit(main())
