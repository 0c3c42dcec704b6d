"""The keeper: the small process that owns a slot's sandboxes, cores and limits.

It loads no solver library, has one thread, and is the reaper of every process that comes of its
sandboxes. It wakes about every 10 ms while a run is under way, which is how it holds the limits even
while its worker is stopped; when the worker goes away it kills and reaps everything and ends.

From the worker (lines of JSON): ``lease`` cores, ``release`` them, ``runs`` to do, ``abort``. To the worker: an
answer a run in the order of the runs, ``cores`` for a lease, ``aborted``.
"""

from __future__ import annotations

import json
import os
import select
import signal
import socket
import sys
import time
from collections import Counter, deque
from contextlib import suppress
from typing import Any

from workers.cores import Leases, PeerGone, locks_folder, usable_cores
from workers.handle import Handle
from workers.page import Running
from workers.processes import (
    PR_SET_CHILD_SUBREAPER,
    Usage,
    children,
    descendants,
    end_all,
    kill,
    prctl,
    pss_kib,
    reap,
    usage,
)
from workers.wire import Lines, Message, encode

TICK_S = 0.010
KEPT = 2  # live sandboxes a slot
START_S = 60.0  # for a sandbox to start, import its libraries and read its first run
GAP_S = 2.0  # two wake-ups further apart than this: the host, or the keeper, was suspended
RETRIES = 2  # of a run that something outside disturbed
MIB = 1024
NS = 1e9


class Keeper:
    """One slot's keeper. ``run`` returns when the worker is gone."""

    def __init__(self, worker: socket.socket) -> None:
        self._worker = worker
        self._inbox = Lines()
        self._outbox = bytearray()
        self._leases = Leases(locks_folder(), usable_cores())
        self._cores: list[int] = usable_cores()
        self._handles: dict[str, Handle] = {}  # by family, the most recently used last
        self._runs: deque[Message] = deque()  # not answered yet; the first `_sent` are with the sandbox
        self._sent = 0
        self._disturbed: Counter[int] = Counter()
        self._cold: set[str] = set()  # configurations whose warm-up had to be killed
        self._seen_at: dict[int, int] = {}  # processes beside the sandbox: run in which first seen
        self._peak_kib: tuple[int, int] = (0, 0)  # run, highest sum over its processes
        self._woke = time.monotonic()

    def run(self) -> None:
        """Serve the worker until it is gone, then leave nothing behind."""
        worker = select.poll()
        worker.register(self._worker, select.POLLIN)
        try:
            while True:
                self._sleep(worker)
                self._receive()
                if self._runs:
                    self._tick()
                self._flush()
        except PeerGone:
            pass
        finally:
            end_all()
            for handle in self._handles.values():
                handle.close()

    # -- talking to the worker

    def _sleep(self, worker: select.poll) -> None:
        """Until the worker speaks; while runs are out for a tick at most, or until the last one's answer."""
        if not self._runs:
            worker.poll(None if not self._outbox else TICK_S * 1000)
            self._woke = time.monotonic()
            return
        handle = self._handles.get(self._runs[0]["family"])
        ends = select.poll()
        ends.register(self._worker, select.POLLIN)
        if handle is not None:
            ends.register(handle.pidfd, select.POLLIN)
            if len(self._runs) == 1:
                ends.register(handle.answers, select.POLLIN)
        ends.poll(TICK_S * 1000)

    def _receive(self) -> None:
        with suppress(BlockingIOError):
            data = self._worker.recv(1 << 16)
            if not data:
                raise PeerGone
            for line in self._inbox.feed(data):
                self._obey(json.loads(line))

    def _obey(self, message: Message) -> None:
        if message["do"] == "runs":
            self._runs.extend(message["runs"])
        elif message["do"] == "abort":
            self._abort()
        elif message["do"] == "lease":
            self._lease(message["threads"])
        elif message["do"] == "release":
            self._leases.release()

    def _say(self, message: Message) -> None:
        self._outbox += encode(message)

    def _flush(self) -> None:
        try:
            while self._outbox:
                del self._outbox[: self._worker.send(self._outbox)]
        except BlockingIOError:
            pass
        except OSError as error:
            raise PeerGone from error

    # -- cores

    def _lease(self, threads: int) -> None:
        self._leases.release()
        self._cores = self._leases.take(threads, self._worker)
        for handle in self._handles.values():
            handle.pin(self._cores)
        self._say({"cores": self._cores})

    # -- runs

    def _tick(self) -> None:
        """Send runs, forward answers, and look whether the run under way may go on."""
        now = time.monotonic()
        gap, self._woke = now - self._woke, now
        handle = self._feed()
        ended = reap()
        if not self._forward(handle, gap):
            self._disturb(handle, "was suspended")
            return
        handle.drain_errors()
        if handle.pid in ended:
            self._died(handle, *ended[handle.pid])
        elif self._sent:
            self._watch(handle, gap)

    def _feed(self) -> Handle:
        family = self._runs[0]["family"]
        handle = self._handles.pop(family, None) or Handle(self._cores)
        self._handles[family] = handle  # now the most recently used
        while len(self._handles) > KEPT:
            self._discard(next(iter(self._handles)))
        while self._sent < len(self._runs) and self._runs[self._sent]["family"] == family:
            run = self._runs[self._sent]
            name = run["configuration"]
            warm = name not in handle.warmed and name not in self._cold
            handle.warmed.add(name)
            handle.send(run | {"warm": warm})
            self._sent += 1
        handle.push()
        return handle

    def _forward(self, handle: Handle, gap: float = 0.0) -> bool:
        """Pass complete answers on as they are; False at one that spans a suspension."""
        for line in handle.read():
            if gap > GAP_S and json.loads(line)["wall_s"] > GAP_S:
                return False
            self._outbox += line + b"\n"
            self._runs.popleft()
            self._sent -= 1
        return True

    def _watch(self, handle: Handle, gap: float) -> None:
        running = handle.page.running()
        beside = self._beside(handle)
        self._end_leftovers(beside, running)
        if running is None:
            if time.monotonic() - handle.since_s > START_S:
                self._kill(handle, None, "error", f"the sandbox did not start a run within {START_S:.0f} s")
            return
        used = self._usage(handle, beside, running)
        elapsed = time.monotonic() - running.started_ns / NS
        run = self._runs[0]
        most_kib = run["memory_mib"] * MIB
        if gap > GAP_S or any(u.state in "Tt" for u in used):
            self._disturb(handle, "was suspended", running.number)
        elif elapsed > run["limit_s"] + run["grace_s"]:
            self._kill(handle, running, "timeout", "killed: the solver did not keep its limit")
        elif self._peak_kib[1] > most_kib and self._really_kib(handle, beside) > most_kib:
            self._kill(handle, running, "memout", f"killed: over {run['memory_mib']} MiB")

    def _usage(self, handle: Handle, beside: list[int], running: Running) -> list[Usage]:
        """Sample the run's processes and keep the highest sum of their memory."""
        used = [u for u in map(usage, [handle.pid, *beside]) if u is not None]
        total = sum(u.rss_kib for u in used)
        number, peak = self._peak_kib
        self._peak_kib = (running.number, max(total, peak if number == running.number else 0))
        if beside:
            handle.page.tell_others(*self._peak_kib)
        return used

    def _really_kib(self, handle: Handle, beside: list[int]) -> int:
        """Resident memory with pages counted once that a run's processes share."""
        return sum(map(pss_kib, [handle.pid, *beside])) if beside else self._peak_kib[1]

    def _beside(self, handle: Handle) -> list[int]:
        """The processes that came of the sandbox, orphans included."""
        own = {other.pid for other in self._handles.values()}
        orphans = [pid for pid in children(os.getpid()) if pid not in own]
        found = descendants(handle.pid) + orphans
        return found + [pid for orphan in orphans for pid in descendants(orphan)]

    def _end_leftovers(self, beside: list[int], running: Running | None) -> None:
        """Kill what an earlier run left running."""
        number = running.number if running else 0
        self._seen_at = {pid: self._seen_at.get(pid, number) for pid in beside}
        kill([pid for pid, seen in self._seen_at.items() if seen != number])

    # -- ends

    def _kill(self, handle: Handle, running: Running | None, stop: str, why: str) -> None:
        """End the sandbox and everything of it; the run under way has that outcome."""
        cpu_s = peak_mib = None
        if running:
            used = self._usage(handle, self._beside(handle), running)
            cpu_s, peak_mib = max(0.0, sum(u.cpu_s for u in used) - running.cpu_ns / NS), self._peak_kib[1] / MIB
        self._end(handle)
        wall_s = time.monotonic() - running.started_ns / NS if running else 0.0
        if running and running.warm_up:
            self._cold.add(self._runs[0]["configuration"])
        elif running is None or self._is_first(running.number):
            self._answer(stop, why, wall_s, cpu_s, peak_mib)

    def _died(self, handle: Handle, status: int, cpu_s: float) -> None:
        """The sandbox ended by itself."""
        running = handle.page.running()
        code = os.waitstatus_to_exitcode(status)
        words = handle.last_words
        self._end(handle)
        if running is None:
            if self._runs and code != os.EX_TEMPFAIL:  # with that it retires between two runs
                self._disturb_first(f"ended its sandbox with {code} before it began: {words}")
        elif running.warm_up:
            self._cold.add(self._runs[0]["configuration"])
        elif code == -signal.SIGKILL:
            self._disturb_first("was killed from outside")
        elif self._is_first(running.number):
            wall_s = time.monotonic() - running.started_ns / NS
            peak_mib = self._peak_kib[1] / MIB if self._peak_kib[0] == running.number else None
            told = f"{_exit(code)}\n{words}".strip()
            self._answer("crashed", told, wall_s, cpu_s - running.cpu_ns / NS, peak_mib, signal=max(0, -code))

    def _is_first(self, number: int) -> bool:
        return bool(self._runs) and self._runs[0]["n"] == number

    def _disturb(self, handle: Handle, how: str, number: int = 0) -> None:
        """Something outside spoilt the run under way, whose answer does not count if it came."""
        self._end(handle, drop=number)
        self._disturb_first(how)

    def _disturb_first(self, how: str) -> None:
        """Do the first run again, but not for ever."""
        if not self._runs:
            return
        number = self._runs[0]["n"]
        self._disturbed[number] += 1
        if self._disturbed[number] > RETRIES:
            self._answer("error", f"the run {how}, {RETRIES + 1} times", 0.0, None, None)

    def _answer(
        self, stop: str, detail: str, wall_s: float, cpu_s: float | None, peak_mib: float | None, **more: Any
    ) -> None:
        run = self._runs.popleft()
        told = {"stop": stop, "detail": detail, "wall_s": wall_s, "cpu_s": cpu_s, "peak_mib": peak_mib}
        self._say({"n": run["n"], "answer": "unknown"} | told | more)

    def _abort(self) -> None:
        """Drop every run; a sandbox in the middle of one is killed with it."""
        if self._sent and (handle := self._handles.get(self._runs[0]["family"])):
            self._end(handle)
        self._runs.clear()
        self._sent = 0
        self._say({"aborted": True})

    def _end(self, handle: Handle, drop: int = 0) -> None:
        """Kill and reap a sandbox and all that came of it; the idle sandbox of another family lives on."""
        self._sent = 0
        for line in handle.read():  # complete answers that were on their way
            if self._is_first(drop):
                break
            self._outbox += line + b"\n"
            self._runs.popleft()
        end_all(spare={other.pid for other in self._handles.values()} - {handle.pid})
        handle.close()
        self._handles = {family: other for family, other in self._handles.items() if other is not handle}

    def _discard(self, family: str) -> None:
        handle = self._handles.pop(family)
        kill([handle.pid])
        os.waitpid(handle.pid, 0)
        handle.close()


def _exit(code: int) -> str:
    return f"ended by {signal.Signals(-code).name}" if code < 0 else f"exited with code {code}"


def main() -> None:
    """Serve the worker at the other end of the socket whose descriptor is the first argument."""
    for quiet in (signal.SIGINT, signal.SIGTERM, signal.SIGHUP, signal.SIGIO):
        signal.signal(quiet, signal.SIG_IGN)  # the worker decides; when it goes, so does the keeper
    prctl(PR_SET_CHILD_SUBREAPER, 1)
    worker = socket.socket(fileno=int(sys.argv[1]))
    worker.set_inheritable(False)
    worker.setblocking(False)
    Keeper(worker).run()


if __name__ == "__main__":
    main()
