"""The keeper: the small process that owns a slot's sandboxes, cores and limits.

It loads no solver library, has one thread, and is the reaper of every process that comes of its
sandboxes. It wakes about every 10 ms while a run is under way, which is how it holds the limits even
while its worker is stopped; when the worker goes away it kills and reaps everything and ends.

From the worker (lines of JSON): ``lease`` cores, ``release`` them, ``runs`` to do, ``abort``. To the
worker: an answer a run in the order of the runs, ``cores`` for a lease, ``aborted``, and ``failed``
when the keeper itself cannot go on.
"""

from __future__ import annotations

import json
import os
import select
import shutil
import signal
import socket
import time

from cagematch.workers.keeper.accounting import MIB, NS, ProcessAccounting, Sample
from cagematch.workers.keeper.pending_runs import PendingRuns
from cagematch.workers.keeper.sandbox_process import SandboxProcess
from cagematch.workers.machine.cores import Leases, PeerGone, locks_folder
from cagematch.workers.machine.orphans import end_orphans
from cagematch.workers.machine.processes import Ended, end_all, kill, reap, usage
from cagematch.workers.machine.topology import usable_cores
from cagematch.workers.messages.framing import RETIRED, Lines, Message, NotALine
from cagematch.workers.sandbox.shared_page import Running

TICK_S = 0.010
LOOKS = 5
IDLE_S = 1.0  # between two looks after sandboxes that have nothing to do
KEPT = 2  # live sandboxes a slot
START_S = 60.0  # for a sandbox to start, import its libraries and read its first run
SWEEP_S = 30.0  # between two looks for orphans, which would share the leased cores
GAP_S = 2.0  # two wake-ups further apart than this: the host, or the keeper, was suspended
# Signals that solvers do not send themselves.
FROM_OUTSIDE = {signal.SIGKILL, signal.SIGTERM, signal.SIGINT, signal.SIGHUP}


class Keeper:
    """One slot's keeper. ``serve`` returns when the worker is gone."""

    def __init__(self, worker: socket.socket, folder: str) -> None:
        self._worker = worker
        self._folder = folder
        self._inbox = Lines()
        self._cores: list[int] = usable_cores()
        self._leases = Leases(locks_folder(), self._cores)
        self._sandboxes: dict[str, SandboxProcess] = {}  # by family, the most recently used last
        self._docket = PendingRuns()
        self._census = ProcessAccounting()
        self._cold: set[str] = set()  # configurations whose warm-up had to be killed
        self._tidy = True  # nothing lives beside the sandboxes
        self._looks = 0
        self._swept_s = -SWEEP_S
        self._tick_s = TICK_S
        self._woke = time.monotonic()

    def serve(self) -> None:
        """Serve the worker until it is gone, then leave nothing behind."""
        try:
            while True:
                if self._sleep():
                    self._receive()
                if self._docket:
                    self._tick()
                else:
                    self._rest()
                self._flush()
        except PeerGone:
            pass
        finally:
            end_all()
            for sandbox in self._sandboxes.values():
                sandbox.close()
            shutil.rmtree(self._folder, ignore_errors=True)

    # -- talking to the worker

    def _sleep(self) -> bool:
        """Until the worker speaks; while runs are out for a tick at most, or until the last one's answer.

        Returns whether the worker spoke.
        """
        sandbox = self._busy()
        if self._docket and sandbox is None:
            return False  # a sandbox is to be started, now
        ends = select.poll()
        ends.register(self._worker, select.POLLIN | (select.POLLOUT if self._docket.outbox else 0))
        if sandbox is None:
            ready = ends.poll(1000 * (IDLE_S if self._tidy else TICK_S) if self._sandboxes else None)
            self._woke = time.monotonic()
            return bool(ready)
        ends.register(sandbox.pidfd, select.POLLIN)
        if self._docket.sent == 1:
            ends.register(sandbox.answers, select.POLLIN)
        return any(end == self._worker.fileno() for end, _ in ends.poll(1000 * self._tick_s))

    def _receive(self) -> None:
        try:
            data = self._worker.recv(1 << 16)
        except BlockingIOError:
            return
        except OSError as error:
            raise PeerGone from error
        if not data:
            raise PeerGone
        for line in self._inbox.feed(data):
            self._obey(json.loads(line))

    def _obey(self, message: Message) -> None:
        if message["do"] == "runs":
            self._docket.add(message["runs"], together=message.get("together", False))
        elif message["do"] == "abort":
            self._abort()
        elif message["do"] == "lease":
            self._lease(message["threads"])
        elif message["do"] == "release":
            self._leases.release()

    def _flush(self) -> None:
        outbox = self._docket.outbox
        try:
            while outbox:
                del outbox[: self._worker.send(outbox)]
        except BlockingIOError:
            pass
        except OSError as error:
            raise PeerGone from error

    def _lease(self, threads: int) -> None:
        self._leases.release()
        self._cores = self._leases.take(threads, self._worker)
        if time.monotonic() - self._swept_s > SWEEP_S:
            end_orphans()
            self._swept_s = time.monotonic()
        for sandbox in self._sandboxes.values():
            sandbox.pin(self._cores)
        self._docket.say({"cores": self._cores})

    # -- runs

    def _tick(self) -> None:
        """Send runs, pass answers on, and look whether the run under way may go on."""
        now = time.monotonic()
        gap, self._woke = now - self._woke, now
        if not self._docket.sent:
            self._rest()
            self._tidy = False
        ended = self._reap()
        sandbox = self._feed()
        if sandbox.lost_to_memory():
            self._lost_to_memory(sandbox, ended)
            return
        if how := self._pass_on(sandbox, gap):
            self._disturb(sandbox, how)
            return
        sandbox.drain_errors()
        self._docket.release()
        if sandbox.pid in ended:
            self._died(sandbox, *ended[sandbox.pid])
        elif self._docket.sent:
            self._watch(sandbox, gap)

    def _rest(self) -> None:
        """Between runs nothing may live but the sandboxes."""
        self._reap()
        left = [pid for pid in self._census.strangers(self._sandboxes.values()) if usage(pid)]
        kill(left)
        self._tidy = not left

    def _busy(self) -> SandboxProcess | None:
        """The sandbox that has runs."""
        return self._sandboxes.get(self._docket.first["family"]) if self._docket.sent else None

    def _reap(self) -> Ended:
        """Collect the dead, and forget the sandboxes among them that had no runs."""
        ended, busy = reap(), self._busy()
        for family, sandbox in list(self._sandboxes.items()):
            if sandbox.pid in ended and sandbox is not busy:
                del self._sandboxes[family]
                sandbox.close()
        return ended

    def _feed(self) -> SandboxProcess:
        family = self._docket.first["family"]
        sandbox = self._sandboxes.pop(family, None) or SandboxProcess(self._cores, self._folder)
        self._sandboxes[family] = sandbox  # now the most recently used
        while len(self._sandboxes) > KEPT:
            self._end(next(iter(self._sandboxes.values())))
        if not self._docket.sent:
            sandbox.waited_for_s = time.monotonic()
        sandbox.limit_memory(self._docket.first["memory_mib"])
        sandbox.send([run | {"warm": self._wants_warm_up(sandbox, run)} for run in self._docket.hand_out()])
        return sandbox

    def _wants_warm_up(self, sandbox: SandboxProcess, run: Message) -> bool:
        name = run["configuration"]
        known = name in sandbox.warmed or name in self._cold
        sandbox.warmed.add(name)
        return not known

    def _pass_on(self, sandbox: SandboxProcess, gap: float = 0.0) -> str:
        """Pass complete answers on as they are; say what disturbed one that cannot be."""
        try:
            for line in sandbox.read():
                if gap > GAP_S and json.loads(line)["wall_s"] > GAP_S:
                    return "the run was suspended"
                if not self._docket.pass_on(line):
                    return "the solver wrote among the answers"
        except NotALine as error:
            return f"the solver wrote among the answers: {error}"
        return ""

    def _watch(self, sandbox: SandboxProcess, gap: float) -> None:
        if self._is_young(sandbox.page.running()):
            self._tick_s = 2 * TICK_S  # while runs are over before they are looked at, fewer looks do
            return
        self._tick_s = TICK_S
        sample = self._census.take(sandbox, self._sandboxes.values())
        running = sample.running
        if sample.suspended or (running and gap > GAP_S):
            self._disturb(sandbox, "the run was suspended")
        elif running is None:
            if time.monotonic() - sandbox.waited_for_s > START_S:
                self._kill(sandbox, sample, "error", f"the sandbox did not start a run within {START_S:.0f} s")
        elif excess := sample.excess(self._docket.first):
            self._kill(sandbox, sample, *excess)

    def _is_young(self, running: Running | None) -> bool:
        """Whether a run need not be looked at yet; one in LOOKS is in any case, for what short runs leave behind."""
        self._looks += 1
        return bool(running and time.monotonic() - running.started_ns / NS < TICK_S and self._looks % LOOKS)

    # -- ends

    def _kill(self, sandbox: SandboxProcess, sample: Sample, stop: str, why: str) -> None:
        """End the sandbox and everything of it; the run under way has that outcome."""
        if self._is_still_due(sandbox, sample.running):
            used = {"cpu_s": sample.cpu_s, "peak_mib": sample.peak_kib / MIB} if sample.running else {}
            self._docket.answer(stop, why, _since(sample.running), **used)  # all of it is gone by now

    def _died(self, sandbox: SandboxProcess, status: int, cpu_s: float) -> None:
        """The sandbox ended by itself."""
        running = sandbox.page.running()
        wall_s = _since(running)
        code = os.waitstatus_to_exitcode(status)
        told = f"{_exit(code)}\n{sandbox.last_words}".strip()
        if running is None:
            self._end(sandbox)
            if code != RETIRED:
                self._docket.disturb(f"the sandbox {told}\nbefore it began the run")
        elif -code in FROM_OUTSIDE:
            self._disturb(sandbox, f"the sandbox was killed from outside ({_exit(code)})")
        elif self._is_still_due(sandbox, running):
            peak_kib = self._census.peak_kib(running.number)
            used = {"cpu_s": max(0.0, cpu_s - running.cpu_ns / NS), "peak_mib": peak_kib and peak_kib / MIB}
            self._docket.answer("crashed", told, wall_s, **used, signal=max(0, -code))

    def _lost_to_memory(self, sandbox: SandboxProcess, ended: Ended) -> None:
        """The kernel killed a process of the run under way, whose answer, if it has one, is worth nothing."""
        running = sandbox.page.running()
        number = running.number if running else self._docket.due
        for line in sandbox.read():
            if self._docket.due == number:
                break
            self._docket.pass_on(line)
        name, limit_mib = self._docket.first["configuration"], self._docket.first["memory_mib"]
        self._end(sandbox, keep_answers=False)
        if running and running.warm_up:
            self._cold.add(name)
        elif self._docket.due == number:
            used = {"peak_mib": limit_mib}
            if running and sandbox.pid in ended:
                used["cpu_s"] = max(0.0, ended[sandbox.pid][1] - running.cpu_ns / NS)
            wall_s = _since(running)
            self._docket.answer("memout", f"killed by the kernel: over {limit_mib} MiB", wall_s, **used)

    def _is_still_due(self, sandbox: SandboxProcess, running: Running | None) -> bool:
        """End a sandbox; whether the run that it was at, or was to begin, has no answer yet.

        An answer may have come meanwhile. One that did not come though its run is over was lost.
        """
        due = self._docket.due
        name = self._docket.first["configuration"] if due else ""
        self._end(sandbox)
        if not due or self._docket.due != due:
            return bool(running and self._docket.due == running.number)
        if running and running.warm_up:
            self._cold.add(name)
            return False
        if running and running.number != due:
            self._docket.disturb("the answer was lost")
            return False
        return True

    def _disturb(self, sandbox: SandboxProcess, how: str) -> None:
        """Something spoilt the run under way, whose answer does not count if it came."""
        self._end(sandbox, keep_answers=False)
        self._docket.disturb(how)

    def _abort(self) -> None:
        """Drop every run; a sandbox in the middle of one is killed with it."""
        if sandbox := self._busy():
            self._end(sandbox)
        self._docket.clear()
        self._docket.say({"aborted": True})

    def _end(self, sandbox: SandboxProcess, *, keep_answers: bool = True) -> None:
        """Kill and reap a sandbox and all that came of it; the idle sandbox of another family lives on."""
        self._sandboxes = {family: other for family, other in self._sandboxes.items() if other is not sandbox}
        end_all(spare={other.pid for other in self._sandboxes.values()})
        if keep_answers:
            self._pass_on(sandbox)
        sandbox.close()
        self._docket.recall()
        self._woke = time.monotonic()


def _since(running: Running | None) -> float:
    """Seconds since a run began; 0 when none is under way."""
    return time.monotonic() - running.started_ns / NS if running else 0.0


def _exit(code: int) -> str:
    return f"ended by {signal.Signals(-code).name}" if code < 0 else f"exited with code {code}"
