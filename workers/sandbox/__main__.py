"""The sandbox process: ``python -m cagematch.workers.sandbox KEEPER``."""

from __future__ import annotations

import os
import resource
import signal
import sys
import tempfile
from contextlib import suppress
from pathlib import Path

from cagematch.workers.machine.processes import PR_SET_PDEATHSIG, prctl
from cagematch.workers.messages.framing import ANSWERS_FD, PAGE_FD, RUNS_FD
from cagematch.workers.sandbox.loop import Sandbox
from cagematch.workers.sandbox.shared_page import Page


def _settle_in() -> None:
    """Be the first to go when memory runs out, leave no core dump, and no file in the user's folder."""
    with suppress(OSError):
        Path("/proc/self/oom_score_adj").write_text("1000", encoding="ascii")
    with suppress(OSError, ValueError):
        resource.setrlimit(resource.RLIMIT_CORE, (1, 1))  # 1 byte: with 0, a handler of dumps would be run
    os.chdir(tempfile.gettempdir())


def main() -> int:
    """Run until the keeper closes the runs."""
    prctl(PR_SET_PDEATHSIG, signal.SIGKILL)  # the keeper has one thread, so this follows its life
    if os.getppid() != int(sys.argv[1]):
        return 1
    for fd in (RUNS_FD, ANSWERS_FD, PAGE_FD):
        os.set_inheritable(fd, False)
    _settle_in()
    return Sandbox(Page(PAGE_FD)).serve()


if __name__ == "__main__":
    sys.exit(main())
