"""The kernel's counters of CPU contention over a span of time: steal, pressure, load and runnable threads.

Read one `KernelCounters` at the start of a span and one at its end; ``later.since(earlier)`` is the `Contention`
between them. Reading takes 0.1 ms. ``root`` is the folder that contains ``proc`` and ``sys``.

Source: proc_stat(5), proc_loadavg(5), and "PSI - Pressure Stall Information" in the kernel's documentation.
"""

from __future__ import annotations

import time
from collections.abc import Collection
from dataclasses import dataclass
from pathlib import Path

from cagematch.workers.machine.procfs import own_cgroups, read_text
from cagematch.workers.machine.topology import ROOT
from cagematch.workers.machine.units import US_PER_S

# Columns of a cpu line in /proc/stat. The columns from GUEST on are already part of earlier ones.
STEAL, GUEST = 7, 8


@dataclass(frozen=True, slots=True)
class Contention:
    """Competition for the cores over a span. A value that the kernel does not provide is None.

    Parameters
    ----------
    seconds
        Length of the span.
    steal
        Share of the cores' time that the hypervisor gave to other tenants, 0 to 1.
    pressure
        Share of the span in which at least one task waited for a core (PSI ``some``), 0 to 1.
    load
        Load average over the last minute, at the end of the span.
    runnable
        Threads that were ready to run, the larger of both ends.
    oversubscribed
        Whether more threads were ready to run than there are hardware threads.
    """

    seconds: float
    steal: float | None
    pressure: float | None
    load: float | None
    runnable: int | None
    oversubscribed: bool | None


@dataclass(frozen=True, slots=True)
class KernelCounters:
    """The counters at one moment.

    Parameters
    ----------
    at_s
        Seconds of the monotonic clock.
    steal, total
        Ticks of the cores: those given to other tenants, and all.
    waiting_us
        Microseconds in which at least one task waited for a core.
    load
        Load average over the last minute.
    runnable
        Threads that are ready to run, without the reading one.
    threads
        Hardware threads that are online.
    """

    at_s: float
    steal: int | None
    total: int
    waiting_us: int | None
    load: float | None
    runnable: int | None
    threads: int

    @classmethod
    def read(cls, cores: Collection[int] = (), root: Path = ROOT) -> KernelCounters:
        """Read the counters, with steal of the given cores or of all."""
        stat = read_text(root / "proc/stat").splitlines()
        lines = [line.split() for line in stat if line.startswith(("cpu", "procs_running"))]
        wanted = {f"cpu{core}" for core in cores} or {"cpu"}
        ticks = [list(map(int, words[1:])) for words in lines if words[0] in wanted]
        load = read_text(root / "proc/loadavg").split()
        running = next((int(words[1]) for words in lines if words[0] == "procs_running"), None)
        return cls(
            at_s=time.monotonic(),
            steal=sum(each[STEAL] for each in ticks) if ticks and len(ticks[0]) > STEAL else None,
            total=sum(sum(each[:GUEST]) for each in ticks),
            waiting_us=_waiting_us(root),
            load=float(load[0]) if load else None,
            runnable=running if running is None else max(0, running - 1),
            threads=sum(words[0].startswith("cpu") for words in lines) - 1,
        )

    def since(self, earlier: KernelCounters) -> Contention:
        """Return the contention between an earlier reading of the same cores and this one."""
        seconds = self.at_s - earlier.at_s
        seen = [each.runnable for each in (self, earlier) if each.runnable is not None]
        return Contention(
            seconds,
            steal=_share(self.steal, earlier.steal, self.total - earlier.total),
            pressure=_share(self.waiting_us, earlier.waiting_us, seconds * US_PER_S),
            load=self.load,
            runnable=max(seen, default=None),
            oversubscribed=max(seen) > self.threads if seen and self.threads > 0 else None,
        )


def _share(now: int | None, before: int | None, of: float) -> float | None:
    """The share of a difference, kept within [0, 1]: the clocks of its two terms differ in resolution."""
    if now is None or before is None or of <= 0:
        return None
    return min(1.0, max(0.0, (now - before) / of))


def _waiting_us(root: Path) -> int | None:
    """Microseconds in which tasks waited for a core: on the host, or in this cgroup where the host's are hidden."""
    groups = [path.lstrip("/") for controllers, path in own_cgroups(root / "proc/self/cgroup") if not controllers]
    for path in (root / "proc/pressure/cpu", *(root / "sys/fs/cgroup" / group / "cpu.pressure" for group in groups)):
        for line in read_text(path).splitlines():
            if line.startswith("some ") and "total=" in line:
                return int(line.rpartition("total=")[2])
    return None
