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
from cagematch.workers.messages.frames import ANSWERS_FD, PAGE_FD, RUNS_FD
from cagematch.workers.sandbox.loop import Sandbox
from cagematch.workers.sandbox.shared_page import Page


def _settle_in() -> None:
    """Be the first process that the kernel kills for memory; leave no core dump and no file in the user's folder."""
    with suppress(OSError):
        Path("/proc/self/oom_score_adj").write_text("1000", encoding="ascii")
    with suppress(OSError, ValueError):
        resource.setrlimit(resource.RLIMIT_CORE, (1, 1))  # 1 byte: with 0, the kernel would start a dump handler
    os.chdir(tempfile.gettempdir())


def main() -> int:
    """Serve until the keeper closes the channel; the argument is the keeper's process id."""
    prctl(PR_SET_PDEATHSIG, signal.SIGKILL)  # the keeper has one thread, so this follows its lifetime
    if os.getppid() != int(sys.argv[1]):
        return 1
    for fd in (RUNS_FD, ANSWERS_FD, PAGE_FD):
        os.set_inheritable(fd, False)
    _settle_in()
    return Sandbox(Page(PAGE_FD)).serve()


if __name__ == "__main__":
    sys.exit(main())
