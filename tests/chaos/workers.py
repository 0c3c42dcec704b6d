"""Workers on simulated hosts, restarted when they die, as a service manager does."""

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

from cagematch.workers.machine.processes import descendants

RESTART_S = 0.5  # Seconds between two checks for dead workers to restart.
END_S = 60  # Seconds for a worker to end.
DESCENDANTS_END_S = 10  # Seconds for the descendants of ended workers to end.


@dataclass
class Fleet:
    """The workers, by host. Each has its own spool."""

    command: Scheduler
    network: Network
    log: Path
    processes: dict[str, subprocess.Popen[bytes]] = field(default_factory=dict)
    _ending: threading.Event = field(default_factory=threading.Event)
    _manager: threading.Thread | None = None

    def start(self) -> None:
        """Start all workers, and restart those that die."""
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
        while not self._ending.wait(RESTART_S):
            for host, process in list(self.processes.items()):
                if process.poll() is not None:
                    self._start(host)

    def descendants(self, host: str, module: str) -> list[int]:
        """Return the worker of a host and its descendants, those whose command line contains ``module``."""
        worker = self.processes[host].pid
        return sorted(pid for pid in (worker, *descendants(worker)) if module.encode() in _command_line(pid))

    def stop(self) -> float:
        """Terminate all workers; return the seconds until the last has ended."""
        self._ending.set()
        if self._manager:
            self._manager.join()
        begun = time.monotonic()
        for process in self.processes.values():
            with suppress(ProcessLookupError):
                process.terminate()
        for process in self.processes.values():
            process.wait(END_S)
        return time.monotonic() - begun

    def kill(self) -> None:
        """Kill the workers that still run."""
        self._ending.set()
        if self._manager:
            self._manager.join()
        for process in self.processes.values():
            if process.poll() is None:
                process.kill()
                process.wait(END_S)

    def left(self) -> list[int]:
        """Return the processes of the workers and their descendants that still run some seconds after the end."""
        with suppress(TimeoutError):
            until(lambda: not self.command.processes(), DESCENDANTS_END_S)
        return self.command.processes()


def _command_line(pid: int) -> bytes:
    with suppress(OSError):
        return Path(f"/proc/{pid}/cmdline").read_bytes()
    return b""


def send_signal(pid: int, number: int) -> bool:
    """Send a signal; return False when the process has ended."""
    try:
        os.kill(pid, number)
    except ProcessLookupError:
        return False
    return True
