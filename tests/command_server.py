"""Run commands in forks of a process that has imported the program already.

Importing the program takes most of the processor time of a short command, and the acceptance tests run hundreds.
A test process starts one server (``CommandServer``), which forks a process for each command. The fork gets the
command's arguments, folder, environment and standard streams, and runs the same entry point as the console script.

The server imports before it forks and starts no thread. A command that depends on what the interpreter reads at its
start (``PYTHON*`` variables, the locale, files that shadow a module) needs an interpreter of its own.
"""

from __future__ import annotations

import gc
import importlib
import json
import os
import pkgutil
import signal
import socket
import subprocess
import sys
import threading
from contextlib import suppress
from pathlib import Path

PACKAGES = ("cagematch.models", "cagematch.scheduler", "cagematch.workers.service", "cagematch.workers.shards")
MODULES = (
    "alembic.command",
    "celery.app.amqp",
    "celery.app.log",
    "celery.concurrency.thread",
    "celery.worker",
    "celery.worker.consumer",
    "kombu.transport.memory",
    "kombu.transport.redis",
    "psycopg",
    "rich.live",
    "rich.progress",
    "rich.table",
    "sqlalchemy.dialects.postgresql.psycopg",
    "sqlalchemy.dialects.sqlite",
    "typer.rich_utils",
)
LARGEST_REQUEST = 1 << 17  # bytes: arguments and environment of a command, as JSON


class CommandServer:
    """A process that runs commands for this one, and ends with it."""

    def __init__(self, environment: dict[str, str]) -> None:
        self.environment = environment
        self._channel, theirs = socket.socketpair(socket.AF_UNIX, socket.SOCK_SEQPACKET)
        with theirs:
            self._process = subprocess.Popen(
                [sys.executable, "-P", __file__, str(theirs.fileno())],
                env=environment,
                stdin=subprocess.DEVNULL,
                stdout=subprocess.PIPE,
                stderr=subprocess.PIPE,
                pass_fds=[theirs.fileno()],
            )

    def run(
        self, arguments: list[str], folder: Path, environment: dict[str, str], stdin: str, timeout_s: float
    ) -> subprocess.CompletedProcess[str]:
        """Run a command to its end.

        Parameters
        ----------
        arguments
            ``sys.argv`` of the command; the first is the path of the console script.

        Raises
        ------
        subprocess.TimeoutExpired
            The command ran for ``timeout_s`` and was killed.
        """
        pipes = [os.pipe() for _ in range(3)]
        ours, theirs = zip(pipes[0][::-1], pipes[1], pipes[2], strict=True)
        reply, far = socket.socketpair()
        request = json.dumps([arguments, str(folder), environment]).encode()
        assert len(request) < LARGEST_REQUEST
        with reply, far:
            socket.send_fds(self._channel, [request], [*theirs, far.fileno()])
            for descriptor in theirs:
                os.close(descriptor)
            far.close()
            with reply.makefile("r") as answers:
                pid = int(answers.readline())
                timer = threading.Timer(timeout_s, _kill, [pid])
                timer.start()
                out, errors = _exchange(ours, stdin)
                code = int(answers.readline())
                late = not timer.is_alive()
                timer.cancel()
        if late:
            raise subprocess.TimeoutExpired(arguments, timeout_s, out, errors)
        return subprocess.CompletedProcess(arguments, code, out, errors)

    def close(self) -> None:
        """End the server."""
        self._channel.close()
        self._process.communicate()


def _kill(pid: int) -> None:
    with suppress(ProcessLookupError):
        os.kill(pid, signal.SIGKILL)


def _exchange(descriptors: tuple[int, ...], stdin: str) -> tuple[str, str]:
    """Write the standard input, and read both outputs up to their end."""
    found = ["", ""]

    def read(index: int) -> None:
        with os.fdopen(descriptors[index + 1], encoding=sys.stdout.encoding or "utf-8") as stream:
            found[index] = stream.read()

    readers = [threading.Thread(target=read, args=[index]) for index in range(2)]
    for reader in readers:
        reader.start()
    with suppress(BrokenPipeError), os.fdopen(descriptors[0], "w", encoding="utf-8") as stream:
        stream.write(stdin)
    for reader in readers:
        reader.join()
    return found[0], found[1]


# -- the server's process


def serve(channel: socket.socket) -> None:
    """Fork a process for each request; return in that process, ready to run its command, and at the end exit."""
    signal.signal(signal.SIGCHLD, signal.SIG_IGN)  # the kernel reaps the forks
    gc.collect()
    gc.freeze()
    while True:
        request, descriptors, _, _ = socket.recv_fds(channel, LARGEST_REQUEST, 4)
        if not request:
            os._exit(0)
        if os.fork() == 0:
            signal.signal(signal.SIGCHLD, signal.SIG_DFL)
            channel.close()
            break
        for descriptor in descriptors:
            os.close(descriptor)
    *streams, reply = descriptors
    read, write = os.pipe()
    pid = os.fork()
    if pid:
        _report(pid, reply, streams, write)
    os.close(write)
    os.read(read, 1)  # the caller has the number of this process
    for target, descriptor in enumerate(streams):
        os.dup2(descriptor, target)
    for descriptor in (*descriptors, read):
        os.close(descriptor)
    arguments, folder, environment = json.loads(request)
    os.chdir(folder)
    os.environ.clear()
    os.environ.update(environment)
    sys.argv = arguments


def _report(pid: int, reply: int, streams: list[int], write: int) -> None:
    """Send the caller the number of the command's process, and its exit code when it has ended."""
    for descriptor in streams:
        os.close(descriptor)
    os.write(reply, f"{pid}\n".encode())
    os.close(write)
    _, status = os.waitpid(pid, 0)
    with suppress(OSError):
        os.write(reply, f"{os.waitstatus_to_exitcode(status)}\n".encode())
    os._exit(0)


def preload() -> None:
    """Import what the commands import, the command line first."""
    importlib.import_module("cagematch.scheduler.cli")
    for name in PACKAGES:
        package = importlib.import_module(name)
        for module in pkgutil.walk_packages(package.__path__, f"{name}."):
            if not module.name.endswith("__main__"):
                importlib.import_module(module.name)
    for name in MODULES:
        importlib.import_module(name)
    assert threading.active_count() == 1, threading.enumerate()


if __name__ == "__main__":
    preload()
    serve(socket.socket(fileno=int(sys.argv[1])))
    sys.path.insert(0, str(Path(sys.argv[0]).parent))  # as for any script
    from cagematch.scheduler.cli import main

    sys.exit(main())
