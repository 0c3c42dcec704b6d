"""Process accounting: the descendants of a run, what they use, and whether that exceeds the limits."""

from __future__ import annotations

import os
import time
from collections.abc import Collection
from typing import NamedTuple

from cagematch.problems.terms import Stop
from cagematch.workers.keeper.sandbox_process import SandboxProcess
from cagematch.workers.machine.processes import Usage, Watched, descendants, kill, pss_kib, usage
from cagematch.workers.machine.units import KIB_PER_MIB, NS_PER_S
from cagematch.workers.messages.protocol import BatchLimits
from cagematch.workers.sandbox.shared_page import Running

WARM_UP_S = 5.0  # the least limit of a warm-up: it imports libraries, which may take longer than a run


class Sample(NamedTuple):
    """One sample of a run in flight.

    Attributes
    ----------
    running
        The run, or None between runs.
    processes
        The sandbox and its descendants.
    suspended
        Whether one of the processes is stopped by a signal or a debugger.
    wall_s, cpu_s
        Seconds since the run started.
    rss_kib, peak_kib
        Resident memory of all processes now, and the highest sum sampled in this run.
    """

    running: Running | None
    processes: tuple[int, ...]
    suspended: bool
    wall_s: float
    cpu_s: float
    rss_kib: int
    peak_kib: int

    def excess(self, limits: BatchLimits) -> tuple[Stop, str] | None:
        """The reason to kill the run, as the stop and a description; None if it may continue."""
        limit_s = max(limits.time_s, WARM_UP_S) if self.running and self.running.warm_up else limits.time_s
        if self.wall_s > limit_s + limits.grace_s:
            return Stop.TIMEOUT, "killed: the solver exceeded its time limit"
        if self._resident_kib(limits.memory_mib * KIB_PER_MIB) > limits.memory_mib * KIB_PER_MIB:
            return Stop.MEMOUT, f"killed: over {limits.memory_mib} MiB"
        return None

    def _resident_kib(self, limit_kib: int) -> int:
        """Resident memory; near the limit, pages shared by several processes count once."""
        if self.rss_kib <= limit_kib or len(self.processes) == 1:
            return self.rss_kib
        return sum(map(pss_kib, self.processes))


class ProcessAccounting:
    """Samples one run after another, and kills processes that a run leaves behind."""

    def __init__(self) -> None:
        self._keeper = Watched(os.getpid())
        self._seen_in: dict[int, int] = {}  # further processes: the label of the run in which each was first seen
        self._peak_kib = 0
        self._of = 0  # the label of the run of that peak

    def take(self, sandbox: SandboxProcess, sandboxes: Collection[SandboxProcess]) -> Sample:
        """Sample the run in flight of one sandbox."""
        own = sandbox.process.usage()
        before = sandbox.page.running()
        alongside = self.strangers(sandboxes)
        running = sandbox.page.running()
        counted = self._belonging(alongside, running) if before == running else list(self._seen_in)
        others = _usages(counted)
        used = [u for u in (own, *others.values()) if u]
        rss_kib = sum(u.rss_kib for u in used)
        if running:
            self._keep_peak(_label(running), rss_kib)
            if others:
                sandbox.page.report_others(_label(running), self._peak_kib)
        return Sample(
            running,
            (sandbox.pid, *others),
            any(u.state in "Tt" for u in used),
            time.monotonic() - running.started_ns / NS_PER_S if running else 0.0,
            max(0.0, sum(u.cpu_s for u in used) - running.cpu_ns / NS_PER_S) if running else 0.0,
            rss_kib,
            self._peak_kib,
        )

    def strangers(self, sandboxes: Collection[SandboxProcess]) -> list[int]:
        """The descendants of this process except its sandboxes."""
        processes = {sandbox.pid: sandbox.process for sandbox in sandboxes}
        todo = [pid for each in (self._keeper, *processes.values()) for pid in each.children() if pid not in processes]
        return todo + [pid for each in todo for pid in descendants(each)]

    def peak_kib(self, number: int) -> int | None:
        """The highest memory sampled in a run, None when it ended before the first sample."""
        return self._peak_kib if number == self._of else None

    def _keep_peak(self, label: int, rss_kib: int) -> None:
        self._peak_kib = max(rss_kib, self._peak_kib if label == self._of else 0)
        self._of = label

    def _belonging(self, alongside: list[int], running: Running | None) -> list[int]:
        """Kill the processes that an earlier run left running; return the others that were sampled before.

        A child seen for the first time may be about to exec: it still shares all its memory with its parent.
        """
        label = _label(running)
        known, self._seen_in = self._seen_in, {pid: self._seen_in.get(pid, label) for pid in alongside}
        kill([pid for pid in alongside if self._seen_in[pid] != label])
        return [pid for pid in alongside if known.get(pid) == label]


def _usages(pids: Collection[int]) -> dict[int, Usage]:
    return {pid: used for pid in pids if (used := usage(pid))}


def _label(running: Running | None) -> int:
    """The run's number; negative for the warm-up before it, 0 between runs."""
    if running is None:
        return 0
    return -running.number if running.warm_up else running.number
