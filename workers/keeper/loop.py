"""The keeper's event loop: messages from the worker, core leases, and the ticks of the runs in flight.

The keeper is a small process with one thread and without solver libraries. It is the reaper (subreaper) of all its
descendants. While a run is in flight it wakes about every 10 ms, so limits hold even while its worker is suspended.
When the worker ends, the keeper kills and reaps all its descendants and ends.
"""

from __future__ import annotations

import select
import socket
import time
from typing import TYPE_CHECKING

from cagematch.workers.keeper.folders import remove_folder
from cagematch.workers.machine.cores import Leases, PeerGone, locks_folder
from cagematch.workers.machine.orphans import end_orphans
from cagematch.workers.machine.processes import end_all
from cagematch.workers.machine.topology import usable_cores
from cagematch.workers.messages.control import (
    Abort,
    Aborted,
    LeaseCores,
    LeasedCores,
    ReleaseCores,
    decode_control,
    encode_control,
)
from cagematch.workers.messages.frames import Frame, FrameReader

if TYPE_CHECKING:
    from cagematch.workers.keeper.supervision import RunSupervisor

SWEEP_S = 30.0  # between two searches for orphans, which would share the leased cores
RECEIVE = 1 << 16  # bytes


class Keeper:
    """One slot's keeper. ``serve`` returns when the worker is gone."""

    def __init__(self, worker: socket.socket, folder: str) -> None:
        self._worker = worker
        self._folder = folder
        self._inbox = FrameReader()
        self._outbox = bytearray()
        self._cores = usable_cores()
        self._leases = Leases(locks_folder(), self._cores)
        self._runs: RunSupervisor | None = None
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
                if self._runs:
                    self._runs.step()
                self._flush()
        except PeerGone:
            pass
        finally:
            end_all()
            if self._runs:
                self._runs.close()
            remove_folder(self._folder)

    def _wait(self) -> bool:
        """Wait for the worker, and no longer than the runs allow; return whether the worker sent something."""
        poll = select.poll()
        poll.register(self._worker, select.POLLIN | (select.POLLOUT if self._outbox else 0))
        wait_s = None
        if self._runs:
            for end in self._runs.ends:
                poll.register(end, select.POLLIN)
            wait_s = self._runs.wait_s
        ready = poll.poll(None if wait_s is None else 1000 * wait_s)
        if self._runs:
            self._runs.woke()
        return any(end == self._worker.fileno() for end, _ in ready)

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
        message = decode_control(frame)
        if message is None:
            self._supervisor().accept(frame)
        elif isinstance(message, LeaseCores):
            self._lease(message.threads)
        elif isinstance(message, ReleaseCores):
            self._leases.release()
        elif isinstance(message, Abort):
            if self._runs:
                self._runs.abort()
            self._outbox += encode_control(Aborted())

    def _supervisor(self) -> RunSupervisor:
        if self._runs is None:
            # With the first settings: a keeper starts a quarter faster without the library of the run protocol.
            from cagematch.workers.keeper.supervision import RunSupervisor

            self._runs = RunSupervisor(self._outbox, self._folder, self._cores)
        return self._runs

    def _flush(self) -> None:
        try:
            while self._outbox:
                del self._outbox[: self._worker.send(self._outbox)]
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
        if self._runs:
            self._runs.pin(self._cores)
        self._outbox += encode_control(LeasedCores(self._cores))
