"""Consoles that print text without markup or terminal control characters, and survive a closed pipe."""

from __future__ import annotations

import io
import os
import re
import shutil
import sys
from collections.abc import Iterable
from contextlib import suppress
from typing import TextIO, cast

import typer
from rich.console import Console, ConsoleOptions, RenderableType
from rich.segment import Segment

LINES = "│─┌┬┐├┼┤└┴┘"
PLAIN = str.maketrans(LINES, "|-+++++++++")
# Control characters except the line feed, and characters that change the direction of the text after them.
CONTROL = re.compile("[\x00-\x09\x0b-\x1f\x7f-\x9f\u061c\u200e\u200f\u2028-\u202e\u2066-\u2069]")
UNLIMITED = 10_000  # columns, where the stream is not a terminal


class PlainConsole(Console):
    """A console that becomes quiet when its pipe is closed, so that the batch continues."""

    def render(self, renderable: RenderableType, options: ConsoleOptions | None = None) -> Iterable[Segment]:
        """Replace control characters in text; only control segments from Rich reach the terminal."""
        for segment in super().render(renderable, options):
            yield segment if segment.control else segment._replace(text=sanitized(segment.text))

    def on_broken_pipe(self) -> None:
        """Discard all further output."""
        self.quiet = True
        silence(self.file)  # type: ignore[arg-type]


def plain_console(stream: TextIO) -> Console:
    """Return a console on a stream, as wide as its terminal; in files and pipes no line is cut or wrapped."""
    terminal = stream.isatty()
    width = shutil.get_terminal_size().columns if terminal else UNLIMITED
    return PlainConsole(file=stream, highlight=False, markup=False, emoji=False, soft_wrap=True, width=width)


def sanitized(text: str) -> str:
    """Return a text with its terminal control characters replaced."""
    return CONTROL.sub("\N{REPLACEMENT CHARACTER}", text)


class TerminalData(io.TextIOBase):
    """A stream on a terminal for machine-readable output, without control characters."""

    def __init__(self, stream: TextIO) -> None:
        self._stream = stream

    def write(self, text: str) -> int:
        """Write the text with control characters replaced."""
        return self._stream.write(sanitized(text))


def data_out() -> TextIO:
    """Return standard output for machine-readable data: unchanged bytes, except on a terminal."""
    if isinstance(sys.stdout, io.TextIOWrapper):
        sys.stdout.reconfigure(encoding="utf-8")
    return cast("TextIO", TerminalData(sys.stdout)) if sys.stdout.isatty() else sys.stdout


def print_data(text: str) -> None:
    """Print machine-readable data to standard output: unchanged, except on a terminal."""
    typer.echo(sanitized(text) if sys.stdout.isatty() else text, nl=False)


def drawable(text: str, stream: TextIO) -> str:
    """Return a drawn grid; its lines become ASCII where the stream's encoding lacks box characters."""
    try:
        LINES.encode(stream.encoding or "ascii")
    except (UnicodeEncodeError, LookupError):
        return text.translate(PLAIN)
    return text


def silence(stream: TextIO) -> None:
    """Redirect a stream to the null device."""
    with suppress(OSError, ValueError):
        nowhere = os.open(os.devnull, os.O_WRONLY)
        os.dup2(nowhere, stream.fileno())
        os.close(nowhere)
