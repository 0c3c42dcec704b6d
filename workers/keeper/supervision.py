"""The runs in flight: handing them to sandboxes, enforcing limits, and the outcome of each sandbox that ends."""

from __future__ import annotations

import os
import signal
import time
from collections.abc import Collection

from cagematch.problems.terms import Stop
from cagematch.workers.keeper.accounting import ProcessAccounting, Sample
from cagematch.workers.keeper.pending_runs import PendingRun, PendingRuns, Used
from cagematch.workers.keeper.sandbox_process import SandboxProcess
from cagematch.workers.machine.processes import Ended, end_all, kill, reap, usage
from cagematch.workers.machine.units import KIB_PER_MIB, NS_PER_S
from cagematch.workers.messages.frames import Frame, FrameError, Kind
from cagematch.workers.messages.protocol import RETIRED, BatchSettings, RunAnswer, decode_as
from cagematch.workers.sandbox.shared_page import Running

TICK_S = 0.010  # between two samples of a run in flight
IDLE_S = 1.0  # between two checks on sandboxes without runs
SKIPPED_SAMPLES = 5  # a series of runs shorter than a tick is sampled once in so many ticks
KEPT = 2  # live sandboxes per slot
START_S = 60.0  # for a sandbox to start, import its libraries and read its first run
GAP_S = 2.0  # two wake-ups further apart than this: the host or the keeper was suspended
# Signals that solvers do not send themselves.
FROM_OUTSIDE = {signal.SIGKILL, signal.SIGTERM, signal.SIGINT, signal.SIGHUP}


class RunSupervisor:
    """Owns the sandboxes of a slot and obtains an answer to each pending run.

    Parameters
    ----------
    outbox
        Where answers to the worker go, as frames.
    folder
        The folder for the temporary files of sandboxes.
    cores
        The cores that sandboxes start on.
    """

    def __init__(self, outbox: bytearray, folder: str, cores: list[int]) -> None:
        self._pending = PendingRuns(outbox)
        self._settings: BatchSettings | None = None
        self._folder = folder
        self._cores = cores
        self._sandboxes: dict[str, SandboxProcess] = {}  # by family, the most recently used last
        self._accounting = ProcessAccounting()
        self._cold: set[str] = set()  # configurations whose warm-up had to be killed
        self._skipped = 0
        self._woke_s = time.monotonic()
        self._tick_s = TICK_S
        self._tidy = True  # no process but the sandboxes was alive at the last check

    @property
    def ends(self) -> list[int]:
        """The descriptors that become readable when there is something to do."""
        sandbox = self._busy
        if sandbox is None:
            return []
        return [sandbox.pidfd, sandbox.answers] if self._pending.sent == 1 else [sandbox.pidfd]

    @property
    def wait_s(self) -> float | None:
        """Seconds until the next step is due at the latest; None without a limit."""
        if self._busy:
            return self._tick_s
        if self._pending:
            return 0.0  # a sandbox has to be started now
        if not self._sandboxes:
            return None
        return IDLE_S if self._tidy else TICK_S

    @property
    def _busy(self) -> SandboxProcess | None:
        """The sandbox that has runs."""
        return self._sandboxes.get(self._pending.first.settings.family) if self._pending.sent else None

    def accept(self, frame: Frame) -> None:
        """Take settings, or a run under the last settings.

        Raises
        ------
        MessageError
            The settings are invalid.
        """
        if frame.kind == Kind.SETTINGS:
            self._settings = decode_as(BatchSettings, frame)
        elif frame.kind == Kind.RUN and self._settings:
            self._pending.add(frame, self._settings)

    def pin(self, cores: list[int]) -> None:
        """Move every sandbox to the given cores; later ones start on them."""
        self._cores = cores
        for sandbox in self._sandboxes.values():
            sandbox.pin(cores)

    def woke(self) -> None:
        """Note the time after a wait without runs, however long: it is no suspension."""
        if not self._pending.sent:
            self._woke_s = time.monotonic()

    def step(self) -> None:
        """Do what is due: with pending runs a tick, otherwise the clean-up between runs."""
        if self._pending:
            self._tick()
        else:
            self._rest()

    def _tick(self) -> None:
        """Send runs, forward answers, and check whether the run in flight may continue."""
        now = time.monotonic()
        gap_s, self._woke_s = now - self._woke_s, now
        if not self._pending.sent:
            self._rest()
            self._tidy = False
        ended = self._reap()
        sandbox = self._feed()
        if sandbox.lost_to_memory():
            self._lost_to_memory(sandbox, ended)
            return
        if how := self._forward(sandbox, gap_s):
            self._disturb(sandbox, how)
            return
        sandbox.drain_errors()
        self._pending.release()
        if sandbox.pid in ended:
            self._died(sandbox, *ended[sandbox.pid])
        elif self._pending.sent:
            self._watch(sandbox, gap_s)

    def _rest(self) -> None:
        """Between runs, kill every process except the sandboxes."""
        self._reap()
        left = [pid for pid in self._accounting.strangers(self._sandboxes.values()) if usage(pid)]
        kill(left)
        self._tidy = not left

    def abort(self) -> None:
        """Cancel every run; kill a sandbox that has a run in flight."""
        if sandbox := self._busy:
            self._end(sandbox)
        self._pending.clear()

    def close(self) -> None:
        """Release the resources of every sandbox; their processes have ended."""
        for sandbox in self._sandboxes.values():
            sandbox.close()

    def _reap(self) -> Ended:
        """Collect ended children, and forget the sandboxes among them that had no runs."""
        ended, busy = reap(), self._busy
        for family, sandbox in list(self._sandboxes.items()):
            if sandbox.pid in ended and sandbox is not busy:
                del self._sandboxes[family]
                sandbox.close()
        return ended

    def _feed(self) -> SandboxProcess:
        settings = self._pending.first.settings
        sandbox = self._sandboxes.pop(settings.family, None) or SandboxProcess(self._cores, self._folder)
        self._sandboxes[settings.family] = sandbox  # now the most recently used
        while len(self._sandboxes) > KEPT:
            self._end(next(iter(self._sandboxes.values())))
        if not self._pending.sent:
            sandbox.waited_for_s = time.monotonic()
        sandbox.limit_memory(settings.limits.memory_mib)
        for run in self._pending.hand_out():
            sandbox.queue(run, warm_up=self._wants_warm_up(sandbox, run))
        sandbox.send()
        return sandbox

    def _wants_warm_up(self, sandbox: SandboxProcess, run: PendingRun) -> bool:
        name = run.settings.configuration
        known = name in sandbox.warmed or name in self._cold
        sandbox.warmed.add(name)
        return not known

    def _forward(self, sandbox: SandboxProcess, gap_s: float = 0.0) -> str:
        """Forward complete answers; return what disturbed one that cannot be used, or an empty string."""
        try:
            for frame in sandbox.read():
                if gap_s > GAP_S and decode_as(RunAnswer, frame).wall_s > GAP_S:
                    return "the run was suspended"
                if not self._pending.forward(frame):
                    return "the solver wrote to the answer channel"
        except FrameError as error:
            return f"the solver wrote to the answer channel: {error}"
        return ""

    def _watch(self, sandbox: SandboxProcess, gap_s: float) -> None:
        if self._may_skip(sandbox.page.running()):
            self._tick_s = 2 * TICK_S  # runs end before they are sampled: fewer samples are enough
            return
        self._tick_s = TICK_S
        sample = self._accounting.take(sandbox, self._sandboxes.values())
        running = sample.running
        if sample.suspended or (running and gap_s > GAP_S):
            self._disturb(sandbox, "the run was suspended")
        elif running is None:
            if time.monotonic() - sandbox.waited_for_s > START_S:
                self._kill(sandbox, sample, Stop.ERROR, f"the sandbox did not start a run within {START_S:.0f} s")
        elif excess := sample.excess(self._pending.first.settings.limits):
            self._kill(sandbox, sample, *excess)

    def _may_skip(self, running: Running | None) -> bool:
        """Whether the run is too young to be sampled; one in SKIPPED_SAMPLES is sampled to find leftover processes."""
        self._skipped += 1
        young = running and time.monotonic() - running.started_ns / NS_PER_S < TICK_S
        return bool(young and self._skipped % SKIPPED_SAMPLES)

    def _kill(self, sandbox: SandboxProcess, sample: Sample, stop: Stop, why: str) -> None:
        """End the sandbox and all its descendants; the run in flight gets that outcome."""
        running = sample.running
        if self._is_still_due(sandbox, running):
            used = Used(_since(running), sample.cpu_s, sample.peak_kib / KIB_PER_MIB) if running else None
            self._pending.answer(stop, why, used)

    def _died(self, sandbox: SandboxProcess, status: int, cpu_s: float) -> None:
        """The sandbox ended without being killed by the keeper."""
        running = sandbox.page.running()
        wall_s = _since(running)
        code = os.waitstatus_to_exitcode(status)
        report = f"{_exit(code)}\n{sandbox.last_words}".strip()
        if running is None:
            self._end(sandbox)
            if code != RETIRED:
                self._pending.disturb(f"the sandbox {report}\nbefore it started the run")
        elif -code in FROM_OUTSIDE:
            self._disturb(sandbox, f"the sandbox was killed by another process ({_exit(code)})")
        elif self._is_still_due(sandbox, running):
            peak_kib = self._accounting.peak_kib(running.number)
            run_cpu_s = max(0.0, cpu_s - running.cpu_ns / NS_PER_S)
            used = Used(wall_s, run_cpu_s, peak_kib and peak_kib / KIB_PER_MIB)
            self._pending.answer(Stop.CRASHED, report, used, signal=max(0, -code))

    def _lost_to_memory(self, sandbox: SandboxProcess, ended: Ended) -> None:
        """The kernel killed a process of the run in flight; an answer to that run is not used."""
        running = sandbox.page.running()
        number = running.number if running else self._pending.due
        for frame in sandbox.read():
            if self._pending.due == number:
                break
            self._pending.forward(frame)
        settings = self._pending.first.settings
        limit_mib = settings.limits.memory_mib
        self._end(sandbox, keep_answers=False)
        if running and running.warm_up:
            self._cold.add(settings.configuration)
        elif self._pending.due == number:
            cpu_s = None
            if running and sandbox.pid in ended:
                cpu_s = max(0.0, ended[sandbox.pid][1] - running.cpu_ns / NS_PER_S)
            why = f"killed by the kernel: over {limit_mib} MiB"
            self._pending.answer(Stop.MEMOUT, why, Used(_since(running), cpu_s, limit_mib))

    def _is_still_due(self, sandbox: SandboxProcess, running: Running | None) -> bool:
        """End a sandbox; return whether the run that it had, or was about to start, has no answer yet.

        An answer may have arrived in the meantime. If the run is over and no answer arrived, the answer was lost.
        """
        due = self._pending.due
        name = self._pending.first.settings.configuration if due else ""
        self._end(sandbox)
        if not due or self._pending.due != due:
            return bool(running and self._pending.due == running.number)
        if running and running.warm_up:
            self._cold.add(name)
            return False
        if running and running.number != due:
            self._pending.disturb("the answer was lost")
            return False
        return True

    def _disturb(self, sandbox: SandboxProcess, how: str) -> None:
        """The run in flight was disturbed: an answer to it does not count."""
        self._end(sandbox, keep_answers=False)
        self._pending.disturb(how)

    def _end(self, sandbox: SandboxProcess, *, keep_answers: bool = True) -> None:
        """Kill and reap a sandbox and its descendants; the idle sandbox of another family stays alive."""
        self._sandboxes = {family: other for family, other in self._sandboxes.items() if other is not sandbox}
        end_all(spare=_pids(self._sandboxes.values()))
        if keep_answers:
            self._forward(sandbox)
        sandbox.close()
        self._pending.recall()
        self._woke_s = time.monotonic()


def _pids(sandboxes: Collection[SandboxProcess]) -> set[int]:
    return {sandbox.pid for sandbox in sandboxes}


def _since(running: Running | None) -> float:
    """Seconds since a run started; 0 without a run in flight."""
    return time.monotonic() - running.started_ns / NS_PER_S if running else 0.0


def _exit(code: int) -> str:
    return f"ended by {signal.Signals(-code).name}" if code < 0 else f"exited with code {code}"
