"""The page that keeper and sandbox share."""

from __future__ import annotations

import os

import pytest

from cagematch.workers.messages.framing import LONGEST, Lines, NotALine, encode
from cagematch.workers.sandbox.shared_page import Page, Running


def test_what_one_end_writes_the_other_reads() -> None:
    descriptor = Page.create()
    keeper, sandbox = Page(descriptor), Page(descriptor)
    os.close(descriptor)

    assert keeper.running() is None
    sandbox.begin(7, 1_000, 2_000, warm_up=True)
    assert keeper.running() == Running(7, 1_000, 2_000, warm_up=True)
    sandbox.begin(8, 3_000, 4_000, warm_up=False)
    assert keeper.running() == Running(8, 3_000, 4_000, warm_up=False)
    sandbox.end()
    assert keeper.running() is None

    keeper.tell_others(8, 123)
    assert sandbox.others_kib(8) == 123
    assert sandbox.others_kib(9) == 0


def test_lines_come_whole_however_they_are_cut() -> None:
    lines, data = Lines(), encode({"a": 1}) + encode({"b": "x\ny"})

    found = [line for at in range(len(data)) for line in lines.feed(data[at : at + 1])]

    assert found == [b'{"a":1}', b'{"b":"x\\ny"}']


def test_a_line_without_end_is_refused() -> None:
    lines = Lines()

    with pytest.raises(NotALine):
        lines.feed(b"x" * (LONGEST + 1))
