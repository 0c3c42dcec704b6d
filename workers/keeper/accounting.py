"""The census: which processes came of a run, what they use, and whether that is more than they may."""

from __future__ import annotations

import os
import time
from collections.abc import Collection
from dataclasses import dataclass

from cagematch.workers.keeper.sandbox_process import SandboxProcess
from cagematch.workers.machine.processes import Usage, Watched, descendants, kill, pss_kib, usage
from cagematch.workers.messages.framing import Message
from cagematch.workers.sandbox.shared_page import Running

MIB = 1024
NS = 1e9
WARM_UP_S = 5.0  # a warm-up imports what the solver still lacks, which may take longer than a limit


@dataclass(frozen=True, slots=True)
class Sample:
    """A run at one instant: seconds, of wall and CPU, and memory since it began.

    ``processes`` are the sandbox and what came of it, ``suspended`` says whether one of them is stopped.
    """

    running: Running | None
    processes: tuple[int, ...]
    suspended: bool
    wall_s: float
    cpu_s: float
    rss_kib: int
    peak_kib: int

    def excess(self, run: Message) -> tuple[str, str] | None:
        """Why the run may not go on, as the stop and words for people; None when it may."""
        limit_s = max(run["limit_s"], WARM_UP_S) if self.running and self.running.warm_up else run["limit_s"]
        if self.wall_s > limit_s + run["grace_s"]:
            return "timeout", "killed: the solver did not keep its limit"
        if self._resident_kib(run["memory_mib"] * MIB) > run["memory_mib"] * MIB:
            return "memout", f"killed: over {run['memory_mib']} MiB"
        return None

    def _resident_kib(self, limit_kib: int) -> int:
        """Resident memory; where it matters, with pages counted once that several processes share."""
        if self.rss_kib <= limit_kib or len(self.processes) == 1:
            return self.rss_kib
        return sum(map(pss_kib, self.processes))


class ProcessAccounting:
    """Samples runs, one after another, and ends what one leaves behind for the next."""

    def __init__(self) -> None:
        self._keeper = Watched(os.getpid())
        self._seen_in: dict[int, int] = {}  # processes beside the sandbox: the label of the run in which first seen
        self._peak_kib = 0
        self._of = 0  # the label of the run that the peak is of

    def take(self, sandbox: SandboxProcess, sandboxes: Collection[SandboxProcess]) -> Sample:
        """Sample the run that one of the sandboxes is at."""
        own = sandbox.process.usage()
        before = sandbox.page.running()
        beside = self.strangers(sandboxes)
        running = sandbox.page.running()
        counted = self._belonging(beside, running) if before == running else list(self._seen_in)
        others = _usages(counted)
        used = [u for u in (own, *others.values()) if u]
        rss_kib = sum(u.rss_kib for u in used)
        if running:
            self._keep_peak(_label(running), rss_kib)
            if others:
                sandbox.page.tell_others(_label(running), self._peak_kib)
        return Sample(
            running,
            (sandbox.pid, *others),
            any(u.state in "Tt" for u in used),
            time.monotonic() - running.started_ns / NS if running else 0.0,
            max(0.0, sum(u.cpu_s for u in used) - running.cpu_ns / NS) if running else 0.0,
            rss_kib,
            self._peak_kib,
        )

    def strangers(self, sandboxes: Collection[SandboxProcess]) -> list[int]:
        """The descendants of this process that are none of its sandboxes."""
        processes = {sandbox.pid: sandbox.process for sandbox in sandboxes}
        todo = [pid for each in (self._keeper, *processes.values()) for pid in each.children() if pid not in processes]
        return todo + [pid for each in todo for pid in descendants(each)]

    def peak_kib(self, number: int) -> int | None:
        """The highest memory seen in a run, None when it was over before it was looked at."""
        return self._peak_kib if number == self._of else None

    def _keep_peak(self, label: int, rss_kib: int) -> None:
        self._peak_kib = max(rss_kib, self._peak_kib if label == self._of else 0)
        self._of = label

    def _belonging(self, beside: list[int], running: Running | None) -> list[int]:
        """End those that an earlier run left running; return the others, if they were seen before.

        At first sight a child may still be on its way to exec, sharing all its memory with its parent.
        """
        label = _label(running)
        known, self._seen_in = self._seen_in, {pid: self._seen_in.get(pid, label) for pid in beside}
        kill([pid for pid in beside if self._seen_in[pid] != label])
        return [pid for pid in beside if known.get(pid) == label]


def _usages(pids: Collection[int]) -> dict[int, Usage]:
    return {pid: used for pid in pids if (used := usage(pid))}


def _label(running: Running | None) -> int:
    """The run's number; negative for the warm-up before it, 0 between runs."""
    if running is None:
        return 0
    return -running.number if running.warm_up else running.number
