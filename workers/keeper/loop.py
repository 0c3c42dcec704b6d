"""The keeper's event loop: messages from the worker, core leases, and the ticks of the runs in flight.

The keeper is a small process with one thread and without solver libraries. It is the reaper (subreaper) of all its
descendants. While a run is in flight it wakes about every 10 ms, so limits hold even while its worker is suspended.
When the worker ends, the keeper kills and reaps all its descendants and ends.
"""

from __future__ import annotations

import select
import socket
import time

from cagematch.workers.keeper.pending_runs import PendingRuns
from cagematch.workers.keeper.sandbox_process import remove_folder
from cagematch.workers.keeper.supervision import TICK_S, RunSupervisor
from cagematch.workers.machine.cores import Leases, PeerGone, locks_folder
from cagematch.workers.machine.orphans import end_orphans
from cagematch.workers.machine.processes import end_all
from cagematch.workers.machine.topology import usable_cores
from cagematch.workers.messages.frames import Frame, FrameReader, Kind
from cagematch.workers.messages.protocol import Aborted, BatchSettings, LeaseCores, LeasedCores, decode_as

IDLE_S = 1.0  # between two checks on sandboxes without runs
SWEEP_S = 30.0  # between two searches for orphans, which would share the leased cores
RECEIVE = 1 << 16  # bytes


class Keeper:
    """One slot's keeper. ``serve`` returns when the worker is gone."""

    def __init__(self, worker: socket.socket, folder: str) -> None:
        self._worker = worker
        self._folder = folder
        self._inbox = FrameReader()
        self._settings: BatchSettings | None = None
        self._leases = Leases(locks_folder(), usable_cores())
        self._pending = PendingRuns()
        self._runs = RunSupervisor(self._pending, folder, usable_cores())
        self._swept_s = -SWEEP_S

    def serve(self) -> None:
        """Serve the worker until it is gone, then leave nothing behind.

        Raises
        ------
        CagematchError
            Core leases are not possible on this host.
        FrameError, MessageError
            The worker sent something that is not a message.
        """
        try:
            while True:
                if self._wait():
                    self._receive()
                if self._pending:
                    self._runs.tick()
                else:
                    self._runs.rest()
                self._flush()
        except PeerGone:
            pass
        finally:
            end_all()
            self._runs.close()
            remove_folder(self._folder)

    def _wait(self) -> bool:
        """Wait for the worker; with a run in flight for one tick at most, or until the last answer arrives.

        Returns whether the worker sent something.
        """
        sandbox = self._runs.busy
        if self._pending and sandbox is None:
            return False  # a sandbox has to be started now
        poll = select.poll()
        poll.register(self._worker, select.POLLIN | (select.POLLOUT if self._pending.outbox else 0))
        if sandbox is None:
            idle_s = None if self._runs.empty else IDLE_S if self._runs.tidy else TICK_S
            ready = poll.poll(idle_s and 1000 * idle_s)
            self._runs.woke()
            return bool(ready)
        poll.register(sandbox.pidfd, select.POLLIN)
        if self._pending.sent == 1:
            poll.register(sandbox.answers, select.POLLIN)
        return any(end == self._worker.fileno() for end, _ in poll.poll(1000 * self._runs.tick_s))

    def _receive(self) -> None:
        try:
            data = self._worker.recv(RECEIVE)
        except BlockingIOError:
            return
        except OSError as error:
            raise PeerGone from error
        if not data:
            raise PeerGone
        for frame in self._inbox.feed(data):
            self._obey(frame)

    def _obey(self, frame: Frame) -> None:
        if frame.kind == Kind.RUN and self._settings:
            self._pending.add(frame, self._settings)
        elif frame.kind == Kind.SETTINGS:
            self._settings = decode_as(BatchSettings, frame)
        elif frame.kind == Kind.LEASE:
            self._lease(decode_as(LeaseCores, frame).threads)
        elif frame.kind == Kind.RELEASE:
            self._leases.release()
        elif frame.kind == Kind.ABORT:
            self._runs.abort()
            self._pending.post(Aborted())

    def _flush(self) -> None:
        outbox = self._pending.outbox
        try:
            while outbox:
                del outbox[: self._worker.send(outbox)]
        except BlockingIOError:
            pass
        except OSError as error:
            raise PeerGone from error

    def _lease(self, threads: int) -> None:
        self._leases.release()
        cores = self._leases.take(threads, self._worker)
        if time.monotonic() - self._swept_s > SWEEP_S:
            end_orphans()
            self._swept_s = time.monotonic()
        self._runs.pin(cores)
        self._pending.post(LeasedCores(cores))
