"""Three workers on hosts of their own, started again when they die, as a service manager does."""

from __future__ import annotations

import os
import subprocess
import threading
import time
from contextlib import suppress
from dataclasses import dataclass, field
from pathlib import Path

from chaos.network import Network
from commanding import Scheduler, until

AGAIN_S = 0.5  # between a worker's death and its next start


@dataclass
class Fleet:
    """The workers, by host. Each has a spool of its own, as hosts have."""

    command: Scheduler
    network: Network
    log: Path
    processes: dict[str, subprocess.Popen[bytes]] = field(default_factory=dict)
    _ending: threading.Event = field(default_factory=threading.Event)
    _manager: threading.Thread | None = None

    def start(self) -> None:
        """Start all, and keep them running."""
        for host in self.network.hosts:
            self._start(host)
        self._manager = threading.Thread(target=self._manage, daemon=True)
        self._manager.start()

    def _start(self, host: str) -> None:
        words = ["worker", "--pool", "other", "--pool", "mip", "--slots", "1", "--log-level", "WARNING"]
        own = {"CAGEMATCH_SPOOL": str(self.log.parent / f"spool-{host}")}
        with self.log.open("ab") as log:
            self.processes[host] = subprocess.Popen(
                [*self.network.within(host), *self.command.command, *words],
                cwd=self.command.folder,
                env=self.command.environment | own,
                stdin=subprocess.DEVNULL,
                stdout=log,
                stderr=log,
                start_new_session=True,
            )

    def _manage(self) -> None:
        while not self._ending.wait(AGAIN_S):
            for host, process in list(self.processes.items()):
                if process.poll() is not None:
                    self._start(host)

    def descendants(self, host: str, module: str) -> list[int]:
        """The processes of a worker that run a module of ours."""
        parents = _parents()
        own = {self.processes[host].pid}
        while more := {pid for pid, parent in parents.items() if parent in own} - own:
            own |= more
        return sorted(pid for pid in own if module.encode() in _line(pid))

    def stop(self) -> float:
        """Tell all to terminate; return the seconds that the last took."""
        self._ending.set()
        if self._manager:
            self._manager.join()
        begun = time.monotonic()
        for process in self.processes.values():
            with suppress(ProcessLookupError):
                process.terminate()
        for process in self.processes.values():
            process.wait(60)
        return time.monotonic() - begun

    def kill(self) -> None:
        """End what is still there, without a word."""
        self._ending.set()
        if self._manager:
            self._manager.join()
        for process in self.processes.values():
            if process.poll() is None:
                process.kill()
                process.wait(60)

    def left(self) -> list[int]:
        """What lives on of the workers and all that came of them, some seconds after their end."""
        with suppress(TimeoutError):
            until(lambda: not self.command.processes(), 10)
        return self.command.processes()


def _parents() -> dict[int, int]:
    found = {}
    for entry in Path("/proc").iterdir():
        if entry.name.isdigit():
            with suppress(OSError, ValueError):
                found[int(entry.name)] = int((entry / "stat").read_text().rpartition(")")[2].split()[1])
    return found


def _line(pid: int) -> bytes:
    with suppress(OSError):
        return Path(f"/proc/{pid}/cmdline").read_bytes()
    return b""


def signalled(pid: int, number: int) -> bool:
    """Send a signal; False where nobody is there any more."""
    try:
        os.kill(pid, number)
    except ProcessLookupError:
        return False
    return True
