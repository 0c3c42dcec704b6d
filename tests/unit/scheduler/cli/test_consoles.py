"""Consoles print text unchanged and survive a closed pipe."""

from __future__ import annotations

import io
import os

from cagematch.scheduler.cli.consoles import plain_console


def test_markup_is_text_and_files_are_not_wrapped():
    """Markup is printed as text, and lines are wrapped on terminals only."""
    out = io.StringIO()

    plain_console(out).print("[red]" + "x" * 500 + ":smile: 123")

    assert out.getvalue() == "[red]" + "x" * 500 + ":smile: 123\n"


def test_a_closed_pipe_makes_the_console_quiet():
    reading, writing = os.pipe()
    os.close(reading)
    with os.fdopen(writing, "w") as stream:
        console = plain_console(stream)

        for _ in range(3):
            console.print("unread")

        assert console.quiet
