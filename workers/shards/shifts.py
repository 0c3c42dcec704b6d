"""A shift: the work of a slot on a claimed shard, for at most half a minute."""

from __future__ import annotations

import itertools
import time
from collections import deque
from contextlib import suppress

from celery.utils.log import get_logger

from cagematch.models.engine import OUTAGE_ERRORS, writing
from cagematch.problems.errors import SandboxError, first_line
from cagematch.problems.problem import Restore
from cagematch.workers.backends import entry
from cagematch.workers.configurations import configuration
from cagematch.workers.keeper.client import KeeperClient
from cagematch.workers.machine.topology import pinned_to_shared
from cagematch.workers.messages.protocol import BatchSettings, RunRequest
from cagematch.workers.queues.dispatch import enqueue, send
from cagematch.workers.shards.conditions import Conditions
from cagematch.workers.shards.leases import ClaimedShard, claim, configuration_of, renew, return_to_queue
from cagematch.workers.shards.outbox import RETRY_S, Outbox
from cagematch.workers.shards.plan import PlannedRun, planned_runs
from cagematch.workers.shards.rows import Recorder
from cagematch.workers.shards.slots import Slots
from cagematch.workers.shards.symmetry import permuted, restored

SHIFT_S = 30.0  # the longest shift
FLUSH_S = 0.8  # between two flushes
AHEAD_S = 0.3  # how much work the keeper has queued
PATIENCE_S = 0.4  # how long a due flush waits for a round of answers; a flush also detects that a batch was cancelled
MOST_AHEAD = 200  # runs that the keeper has queued
PAUSE_S = 0.05  # between two reads of answers: a read costs as much as a row
ATTEMPTS = 3  # of a run during which the worker is lost
log = get_logger(__name__)
_numbers = itertools.count(1)


def work_on(shard_id: int, slots: Slots) -> None:
    """Work on a shard for one shift. During an outage of the database, wait, so that the message is not lost."""
    logged = False
    while not slots.stopping.is_set():
        try:
            _work_on(shard_id, slots)
            return
        except OUTAGE_ERRORS as error:
            if not logged:
                log.warning("shard %s waits for the database: %s", shard_id, first_line(error))
            logged = True
            slots.stopping.wait(RETRY_S)


def _work_on(shard_id: int, slots: Slots) -> None:
    """Lease cores, claim the shard, work, release both. A second delivery of a message finds nothing to claim."""
    text = configuration_of(slots.engine, shard_id)
    if text is None:
        return
    threads = configuration(text).threads
    shift: ShiftRunner | None = None
    lost = False
    try:
        keeper = slots.keeper()
        cores = keeper.lease(threads)
        with pinned_to_shared(cores):
            claimed = claim(slots.engine, shard_id, slots.worker_id)
            if claimed:
                recorder = Recorder(claimed, slots.worker_id, cores, threads)
                conditions = Conditions(claimed.batch_id, slots.worker_id, cores)
                shift = ShiftRunner(
                    claimed, keeper, slots, recorder, Outbox(slots.engine, claimed, conditions, slots.spool)
                )
                shift.work()
        keeper.release()
    except OUTAGE_ERRORS:
        keeper.release()  # no run is in flight: the claim or the plan failed
        if shift is None:
            raise
    except SandboxError as error:
        lost = not slots.stopping.is_set()
        if lost:
            log.warning("shard %s: %s", shard_id, error)
        slots.drop_keeper()
    except BaseException:
        slots.drop_keeper()  # its state is unknown; the lease expires by itself
        raise
    if shift:
        shift.outbox.settle(slots.stopping)
        _return(shift, slots, lost=lost)


def _return(shift: ShiftRunner, slots: Slots, *, lost: bool) -> None:
    """Return an unfinished shard to its queue once the database is reachable; a worker that stops tries once."""
    while not shift.outbox.complete:
        try:
            if return_to_queue(slots.engine, shift.claimed, lost=lost):
                send(slots.app, [(shift.claimed.shard_id, shift.claimed.queue)])
            return
        except OUTAGE_ERRORS:
            if slots.stopping.wait(RETRY_S):
                return


class ShiftRunner:
    """Runs a claimed shard until it is finished, the shift is over, the worker stops, or the lease is lost.

    Where the host has no other cores than those of the solves, this thread and the solves take turns.
    """

    def __init__(
        self, claimed: ClaimedShard, keeper: KeeperClient, slots: Slots, recorder: Recorder, outbox: Outbox
    ) -> None:
        self.claimed, self.outbox = claimed, outbox
        self._keeper, self._slots, self._recorder = keeper, slots, recorder
        self._settings = BatchSettings(
            entry(claimed.backend).family,
            claimed.configuration,
            claimed.limits,
            claimed.asked.task,
            claimed.asked.bound,
        )
        self._suspect = claimed.attempts > 0
        self._todo: deque[PlannedRun] = deque()
        self._in_flight: deque[tuple[int, PlannedRun, Restore]] = deque()
        self._wall_s, self._done = 0.0, 0

    def work(self) -> None:
        """Run the shift."""
        self._todo.extend(planned_runs(self._slots.engine, self.claimed))
        if self.claimed.attempts >= ATTEMPTS:
            self._give_up_on_first()
        over = time.monotonic() + SHIFT_S
        flush_at = time.monotonic() + FLUSH_S
        try:
            while self._hand_out(time.monotonic() < over) or self._in_flight:
                self._collect(max(0.01, flush_at + self._patience_s - time.monotonic()))
                if time.monotonic() >= flush_at + self._patience_s or self._suspect:
                    flush_at = time.monotonic() + FLUSH_S
                    if not self._flush():
                        self._keeper.abort()
                        return
        except SandboxError:
            self._flush()
            raise
        self._flush()

    @property
    def _patience_s(self) -> float:
        """How long a due flush waits for the end of a round; it does not wait for a long run."""
        return PATIENCE_S if self._keeper.in_turns and self._in_flight else 0.0

    def _hand_out(self, wanted: bool) -> bool:
        """Keep the keeper supplied; a suspect shard gets one run at a time, marked before it starts."""
        if not wanted or not self._todo or self._slots.stopping.is_set() or not self.outbox.accepts_runs:
            return False
        ahead = 1 if self._suspect else self._ahead()
        if len(self._in_flight) > (0 if self._keeper.in_turns else ahead // 2):
            return True
        if self._suspect and (self.outbox.outage or not self._mark()):
            return False
        runs = [self._todo.popleft() for _ in range(min(len(self._todo), ahead - len(self._in_flight)))]
        requests = [self._request(run) for run in runs]
        if not self._todo:
            # Now, while the solver is busy. If it fails, supervision does it later.
            with suppress(*OUTAGE_ERRORS):
                enqueue(self._slots.app, self._slots.engine, self.claimed.batch_id)
        self._keeper.submit(requests, self._settings)
        return True

    def _ahead(self) -> int:
        """How many runs fill AHEAD_S, estimated from those done so far; one at first."""
        if not self._done:
            return 1
        return int(min(MOST_AHEAD, 3 * self._done, max(1, AHEAD_S / self._mean_s)))

    @property
    def _mean_s(self) -> float:
        return max(self._wall_s, 1e-6) / max(self._done, 1)

    def _request(self, run: PlannedRun) -> RunRequest:
        number = next(_numbers)
        seed = self.claimed.seed + run.repeat
        text, restore = permuted(run, seed) if self.claimed.permuted else (run.text, list)
        self._in_flight.append((number, run, restore))
        return RunRequest(number, run.kind, text, seed)

    def _collect(self, within_s: float) -> None:
        """Read the answers that have arrived; pause before each read while the keeper has enough work."""
        if not self._keeper.in_turns and (len(self._in_flight) - 1) * self._mean_s > 2 * PAUSE_S:
            self._slots.stopping.wait(PAUSE_S)
        for answer in self._keeper.answers(within_s):
            number, run, restore = self._in_flight[0]
            if answer.number != number:
                raise SandboxError(f"received the answer to run {answer.number}, expected run {number}")
            self.outbox.add(self._recorder.row(run, restored(answer, restore) if self.claimed.permuted else answer))
            self._in_flight.popleft()  # only now: a run in flight counts as not done
            self._wall_s += answer.wall_s
            self._done += 1

    def _flush(self) -> bool:
        """Store the finished runs and the position of the next one; return False when the lease is lost."""
        left = [run for _, run, _ in itertools.islice(self._in_flight, 1)] or [*itertools.islice(self._todo, 1)]
        return self.outbox.flush(left[0].index if left else self.claimed.stop)

    def _mark(self) -> bool:
        """Mark the next run as started; return False where the lease is lost or the database is unreachable."""
        at = self._todo[0].index
        with suppress(*OUTAGE_ERRORS), writing(self._slots.engine) as connection:
            return renew(connection, self.claimed, at, marked=at)
        return False

    def _give_up_on_first(self) -> None:
        """The worker was lost too often during the first run: store that as the run's outcome."""
        if not self._todo or self._todo[0].index != self.claimed.position:
            return  # its answer arrived late and is stored
        detail = f"{ATTEMPTS} workers in a row were lost during this run"
        self.outbox.add(self._recorder.failed(self._todo.popleft(), detail))
        self._flush()
