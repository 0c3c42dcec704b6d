"""How well a machine was over a span: whether something beside the solves had a part of its processors.

Read one ``Health`` at the beginning of a span and one at its end; ``later.since(earlier)`` is what lies between. A
reading takes a tenth of a millisecond. ``root`` is where ``proc`` and ``sys`` are.
"""

from __future__ import annotations

import time
from collections.abc import Collection
from dataclasses import dataclass
from pathlib import Path

from cagematch.workers.machine.topology import ROOT

STEAL, GUEST = 7, 8  # columns of a cpu line in /proc/stat: taken by the hypervisor; from here on counted before, too


@dataclass(frozen=True, slots=True)
class Strain:
    """A span: its seconds, and what strained it; what the kernel does not tell is None.

    ``steal``: the share of the cores' time that the hypervisor gave to others. ``pressure``: the share of the span in
    which at least one task waited for a core (PSI ``some``). ``load``: the average over the last minute, at the end.
    ``runnable``: the most threads seen ready to run at either end, ``oversubscribed`` whether there were more of them
    than hardware threads.
    """

    seconds: float
    steal: float | None
    pressure: float | None
    load: float | None
    runnable: int | None
    oversubscribed: bool | None


@dataclass(frozen=True, slots=True)
class Health:
    """The kernel's counters at one instant: in ticks, and for ``waiting_us`` in microseconds."""

    at_s: float
    steal: int | None
    total: int
    waiting_us: int | None
    load: float | None
    runnable: int | None
    threads: int

    @classmethod
    def read(cls, cores: Collection[int] = (), root: Path = ROOT) -> Health:
        """Read the counters; steal for the given cores, or for all."""
        stat = _read(root / "proc/stat").splitlines()
        lines = [line.split() for line in stat if line.startswith(("cpu", "procs_running"))]
        wanted = {f"cpu{core}" for core in cores} or {"cpu"}
        ticks = [list(map(int, words[1:])) for words in lines if words[0] in wanted]
        load = _read(root / "proc/loadavg").split()
        running = next((int(words[1]) for words in lines if words[0] == "procs_running"), None)
        return cls(
            time.monotonic(),
            sum(each[STEAL] for each in ticks) if ticks and len(ticks[0]) > STEAL else None,
            sum(sum(each[:GUEST]) for each in ticks),
            _waiting_us(root),
            float(load[0]) if load else None,
            running if running is None else max(0, running - 1),  # this very thread
            sum(words[0].startswith("cpu") for words in lines) - 1,
        )

    def since(self, earlier: Health) -> Strain:
        """What lies between an earlier reading of the same cores and this one."""
        seconds = self.at_s - earlier.at_s
        seen = [each.runnable for each in (self, earlier) if each.runnable is not None]
        return Strain(
            seconds,
            _share(self.steal, earlier.steal, self.total - earlier.total),
            _share(self.waiting_us, earlier.waiting_us, seconds * 1e6),
            self.load,
            max(seen, default=None),
            max(seen) > self.threads if seen and self.threads > 0 else None,
        )


def _share(now: int | None, before: int | None, of: float) -> float | None:
    """Between 0 and 1, whatever the clocks' grains make of it."""
    if now is None or before is None or of <= 0:
        return None
    return min(1.0, max(0.0, (now - before) / of))


def _waiting_us(root: Path) -> int | None:
    """How long tasks have waited for a core: on the host, or in the own cgroup where the host's is not to be had."""
    for path in (root / "proc/pressure/cpu", *_groups(root)):
        for line in _read(path).splitlines():
            if line.startswith("some ") and "total=" in line:
                return int(line.rpartition("total=")[2])
    return None


def _groups(root: Path) -> list[Path]:
    own = (line.partition("::")[2] for line in _read(root / "proc/self/cgroup").splitlines() if line.startswith("0::"))
    return [root / "sys/fs/cgroup" / name.lstrip("/") / "cpu.pressure" for name in own]


def _read(path: Path) -> str:
    try:
        return path.read_text(encoding="ascii")
    except (OSError, ValueError):
        return ""
