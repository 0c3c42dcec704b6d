"""Consoles: what is printed on them is text, never markup, and a reader that went away is no reason to stop."""

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
# Control characters, but for the line's end; and those that turn what follows them around.
STEERING = re.compile("[\x00-\x09\x0b-\x1f\x7f-\x9f\u061c\u200e\u200f\u2028-\u202e\u2066-\u2069]")
UNLIMITED = 10_000  # columns of what is no terminal


class Steady(Console):
    """A console that falls silent when nobody reads it any more, so that the work goes on."""

    def render(self, renderable: RenderableType, options: ConsoleOptions | None = None) -> Iterable[Segment]:
        """Text steers no terminal, whoever wrote it: what does so is ours alone."""
        for segment in super().render(renderable, options):
            yield segment if segment.control else segment._replace(text=harmless(segment.text))

    def on_broken_pipe(self) -> None:
        """The reader has gone."""
        self.quiet = True
        silence(self.file)  # type: ignore[arg-type]


def steady(stream: TextIO) -> Console:
    """A console on a stream, as wide as its terminal; elsewhere nothing is cut or wrapped."""
    terminal = stream.isatty()
    width = shutil.get_terminal_size().columns if terminal else UNLIMITED
    return Steady(file=stream, highlight=False, markup=False, emoji=False, soft_wrap=True, width=width)


def harmless(text: str) -> str:
    """Text without the characters that steer a terminal."""
    return STEERING.sub("\N{REPLACEMENT CHARACTER}", text)


class Shown(io.TextIOBase):
    """A stream on a terminal, for what programs are to read: nothing in it steers the terminal."""

    def __init__(self, stream: TextIO) -> None:
        self._stream = stream

    def write(self, text: str) -> int:
        """Write the text without the characters that would."""
        return self._stream.write(harmless(text))


def data_out() -> TextIO:
    """The standard output for what programs are to read: the same bytes as in a file, unless a terminal is there."""
    if isinstance(sys.stdout, io.TextIOWrapper):
        sys.stdout.reconfigure(encoding="utf-8")
    return cast("TextIO", Shown(sys.stdout)) if sys.stdout.isatty() else sys.stdout


def written(text: str) -> None:
    """Write what programs are to read to the standard output, as it is unless a terminal is there."""
    typer.echo(harmless(text) if sys.stdout.isatty() else text, nl=False)


def drawable(text: str, stream: TextIO) -> str:
    """A drawn grid as the stream's encoding has it: without its lines, in plain characters."""
    try:
        LINES.encode(stream.encoding or "ascii")
    except (UnicodeEncodeError, LookupError):
        return text.translate(PLAIN)
    return text


def silence(stream: TextIO) -> None:
    """Let what is still written to a stream vanish."""
    with suppress(OSError, ValueError):
        nowhere = os.open(os.devnull, os.O_WRONLY)
        os.dup2(nowhere, stream.fileno())
        os.close(nowhere)
