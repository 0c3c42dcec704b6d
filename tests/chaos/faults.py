"""The faults, and the seeded draw of a sequence of them."""

from __future__ import annotations

import random
import signal
import threading
import time
from collections.abc import Iterator
from contextlib import contextmanager
from dataclasses import dataclass, field

from chaos.network import Network
from chaos.servers import Postgres, Redis
from chaos.workers import Fleet, send_signal

LEASE_S = 6.0  # Seconds of a shard's lease.
LONG_S = LEASE_S + 3.0  # Seconds after which an expired lease has been returned.
OUTAGE_S = 4.0  # The longest outage of a server, in seconds.
START_S = 30.0  # Seconds to wait for a keeper or a sandbox to start, before it can be killed.
ON_HOST = (
    "a worker is killed",
    "a keeper is killed",
    "a sandbox is killed",
    "a worker is suspended",
    "a network is cut",
)
KINDS = (*ON_HOST, "Redis is restarted empty", "PostgreSQL is restarted")


@dataclass(frozen=True)
class Fault:
    """One fault: its kind, its host, and its duration in seconds unless it kills a process."""

    kind: str
    host: int
    seconds: float

    def __str__(self) -> str:
        host = f" (host {self.host + 1})" if self.kind in ON_HOST else ""
        duration = f" for {self.seconds:.1f} s" if "killed" not in self.kind else ""
        return f"{self.kind}{host}{duration}"


def draw(seed: int, count: int, hosts: int) -> list[Fault]:
    """Draw ``count`` faults in random order, of each kind about equally many."""
    source = random.Random(seed)
    kinds = [KINDS[at % len(KINDS)] for at in range(count)]
    source.shuffle(kinds)
    return [Fault(kind, source.randrange(hosts), _seconds(source, kind)) for kind in kinds]


def _seconds(source: random.Random, kind: str) -> float:
    if kind == "a worker is suspended":
        return source.uniform(LONG_S, LONG_S + 2)
    return source.uniform(0.5, LONG_S if kind == "a network is cut" else OUTAGE_S)


@dataclass
class Injector:
    """Injects faults. Each runs in its own thread, so faults overlap, but a host or server has one outage at a time."""

    fleet: Fleet
    network: Network
    redis: Redis
    postgres: Postgres
    _locks: dict[str, threading.Lock] = field(default_factory=dict)
    _threads: list[threading.Thread] = field(default_factory=list)

    def inject(self, fault: Fault) -> None:
        """Start a fault."""
        act = {
            "a worker is killed": lambda: self._kill(fault, "scheduler"),
            "a keeper is killed": lambda: self._kill(fault, "cagematch.workers.keeper"),
            "a sandbox is killed": lambda: self._kill(fault, "cagematch.workers.sandbox"),
            "a worker is suspended": lambda: self._suspend(fault),
            "a network is cut": lambda: self._cut(fault),
            "Redis is restarted empty": lambda: self._restart(self.redis, fault),
            "PostgreSQL is restarted": lambda: self._restart(self.postgres, fault),
        }[fault.kind]
        thread = threading.Thread(target=act, name=str(fault))
        thread.start()
        self._threads.append(thread)

    def wait(self) -> None:
        """Wait until every fault has ended."""
        for thread in self._threads:
            thread.join()

    def _kill(self, fault: Fault, module: str) -> None:
        host = self.network.hosts[fault.host]
        if module == "scheduler":
            send_signal(self.fleet.processes[host].pid, signal.SIGKILL)
            return
        deadline = time.monotonic() + START_S
        while not (found := self.fleet.descendants(host, module)) and time.monotonic() < deadline:
            time.sleep(0.05)
        for pid in found[:1]:
            send_signal(pid, signal.SIGKILL)

    def _suspend(self, fault: Fault) -> None:
        pid = self.fleet.processes[self.network.hosts[fault.host]].pid
        if send_signal(pid, signal.SIGSTOP):
            time.sleep(fault.seconds)
            send_signal(pid, signal.SIGCONT)

    def _cut(self, fault: Fault) -> None:
        host = self.network.hosts[fault.host]
        with self._exclusively(host):
            self.network.cut(host)
            time.sleep(fault.seconds)
            self.network.connect(host)

    def _restart(self, server: Redis | Postgres, fault: Fault) -> None:
        with self._exclusively(type(server).__name__):
            server.stop()
            time.sleep(fault.seconds)
            server.start()

    @contextmanager
    def _exclusively(self, target: str) -> Iterator[None]:
        with self._locks.setdefault(target, threading.Lock()):
            yield
