"""The keeper process: ``python -m cagematch.workers.keeper SOCKET FOLDER``."""

from __future__ import annotations

import os
import signal
import socket
import sys
from contextlib import suppress

from cagematch.problems.errors import CagematchError
from cagematch.workers.keeper.loop import Keeper
from cagematch.workers.machine.orphans import KEEPER, identity
from cagematch.workers.machine.processes import PR_SET_CHILD_SUBREAPER, prctl
from cagematch.workers.messages.control import KeeperFailed, encode_control


def main() -> None:
    """Serve a worker; the arguments are the descriptor of its socket and a folder for temporary files."""
    for quiet in (signal.SIGINT, signal.SIGTERM, signal.SIGHUP, signal.SIGIO):
        signal.signal(quiet, signal.SIG_IGN)  # the worker decides; when it ends, the keeper ends
    prctl(PR_SET_CHILD_SUBREAPER, 1)
    os.environ[KEEPER] = identity(os.getpid())
    worker = socket.socket(fileno=int(sys.argv[1]))
    worker.set_inheritable(False)
    worker.setblocking(False)
    try:
        Keeper(worker, sys.argv[2]).serve()
    except Exception as error:
        with suppress(OSError):
            worker.send(encode_control(KeeperFailed(str(error) or type(error).__name__)))
        if isinstance(error, CagematchError):  # the message explains it
            sys.exit(1)
        raise


if __name__ == "__main__":
    main()
