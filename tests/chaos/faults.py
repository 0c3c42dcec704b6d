"""The faults, and how a seed draws them."""

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
from chaos.workers import Fleet, signalled

LEASE_S = 6.0
LONG_S = LEASE_S + 3.0  # longer than a lease, and than it takes to see that it ran out
AWAY_S = 4.0  # for which a server may be away
WHERE = ("a worker is killed", "a keeper is killed", "a sandbox is killed", "a worker is suspended", "a network is cut")
KINDS = (*WHERE, "Redis is restarted empty", "PostgreSQL is restarted")


@dataclass(frozen=True)
class Fault:
    """One fault: what, on which of the hosts, and for how long where it lasts."""

    kind: str
    host: int
    seconds: float

    def __str__(self) -> str:
        where = f" (host {self.host + 1})" if self.kind in WHERE else ""
        lasts = f" for {self.seconds:.1f} s" if "killed" not in self.kind else ""
        return f"{self.kind}{where}{lasts}"


def draw(seed: int, count: int, hosts: int) -> list[Fault]:
    """So many faults, of each kind about as many, in any order."""
    source = random.Random(seed)
    kinds = [KINDS[at % len(KINDS)] for at in range(count)]
    source.shuffle(kinds)
    return [Fault(kind, source.randrange(hosts), _seconds(source, kind)) for kind in kinds]


def _seconds(source: random.Random, kind: str) -> float:
    if kind == "a worker is suspended":
        return source.uniform(LONG_S, LONG_S + 2)
    return source.uniform(0.5, LONG_S if kind == "a network is cut" else AWAY_S)


@dataclass
class Striker:
    """Strikes; what lasts is undone by a thread of its own, so that faults overlap. One thing fails once at a time."""

    fleet: Fleet
    network: Network
    redis: Redis
    postgres: Postgres
    _locks: dict[str, threading.Lock] = field(default_factory=dict)
    _threads: list[threading.Thread] = field(default_factory=list)

    def strike(self, fault: Fault) -> None:
        """Begin a fault."""
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
        """Until every fault is over."""
        for thread in self._threads:
            thread.join()

    def _kill(self, fault: Fault, module: str) -> None:
        host = self.network.hosts[fault.host]
        if module == "scheduler":
            signalled(self.fleet.processes[host].pid, signal.SIGKILL)
            return
        over = time.monotonic() + 30
        while not (found := self.fleet.descendants(host, module)) and time.monotonic() < over:
            time.sleep(0.05)  # it has just been started
        for pid in found[:1]:
            signalled(pid, signal.SIGKILL)

    def _suspend(self, fault: Fault) -> None:
        pid = self.fleet.processes[self.network.hosts[fault.host]].pid
        if signalled(pid, signal.SIGSTOP):
            time.sleep(fault.seconds)
            signalled(pid, signal.SIGCONT)

    def _cut(self, fault: Fault) -> None:
        host = self.network.hosts[fault.host]
        with self._alone(host):
            self.network.cut(host)
            time.sleep(fault.seconds)
            self.network.mend(host)

    def _restart(self, server: Redis | Postgres, fault: Fault) -> None:
        with self._alone(type(server).__name__):
            server.stop()
            time.sleep(fault.seconds)
            server.start()

    @contextmanager
    def _alone(self, what: str) -> Iterator[None]:
        with self._locks.setdefault(what, threading.Lock()):
            yield
