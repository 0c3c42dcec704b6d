"""The page of memory shared by keeper and sandbox."""

from __future__ import annotations

import os

from cagematch.workers.sandbox.shared_page import Page, Running


def test_each_side_reads_what_the_other_writes() -> None:
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

    keeper.report_others(8, 123)
    assert sandbox.others_kib(8) == 123
    assert sandbox.others_kib(9) == 0
