"""A shift: what a slot does with a shard that it has claimed, for half a minute at most."""

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
from cagematch.workers.keeper.client import Job, KeeperClient
from cagematch.workers.machine.topology import beside
from cagematch.workers.queues.dispatch import enqueue, send
from cagematch.workers.shards.conditions import Conditions
from cagematch.workers.shards.leases import ClaimedShard, Planned, claim, configuration_of, planned, put_back, renew
from cagematch.workers.shards.outbox import AGAIN_S, Outbox
from cagematch.workers.shards.rows import Recorder
from cagematch.workers.shards.slots import Slots
from cagematch.workers.shards.symmetry import permuted, restored

SHIFT_S = 30.0
FLUSH_S = 0.8
AHEAD_S = 0.3  # how much work the keeper has in hand
PATIENCE_S = 0.4  # more than that takes; a flush renews the lease, and notices that a batch was cancelled
MOST_AHEAD = 200
PAUSE_S = 0.05  # between two looks for answers: each look costs as much as a row does
ATTEMPTS = 3  # of a run that takes its worker with it
log = get_logger(__name__)
_numbers = itertools.count(1)


def work_on(shard_id: int, slots: Slots) -> None:
    """Work on a shard; while the database is away, wait for it, so that the message is not lost."""
    told = False
    while not slots.stopping.is_set():
        try:
            _work_on(shard_id, slots)
            return
        except OUTAGE_ERRORS as error:
            if not told:
                log.warning("shard %s waits for the database: %s", shard_id, first_line(error))
            told = True
            slots.stopping.wait(AGAIN_S)


def _work_on(shard_id: int, slots: Slots) -> None:
    """Lease cores, claim, work, give both back. A second delivery of a message finds nothing to claim."""
    text = configuration_of(slots.engine, shard_id)
    if text is None:
        return
    threads = configuration(text).threads
    shift: ShiftRunner | None = None
    lost = False
    try:
        keeper = slots.keeper()
        cores = keeper.lease(threads)
        with beside(cores):
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
        keeper.release()  # no run is out: it was to be claimed or planned
        if shift is None:
            raise
    except SandboxError as error:
        lost = not slots.stopping.is_set()
        if lost:
            log.warning("shard %s: %s", shard_id, error)
        slots.drop_keeper()
    except BaseException:
        slots.drop_keeper()  # it may be in the middle of something; the lease runs out by itself
        raise
    if shift:
        shift.outbox.settle(slots.stopping)
        _give_back(shift, slots, lost=lost)


def _give_back(shift: ShiftRunner, slots: Slots, *, lost: bool) -> None:
    """Put a shard back that has something left, as soon as the database is there; a worker that stops tries once."""
    while not shift.outbox.stored:
        try:
            if put_back(slots.engine, shift.claimed, lost=lost):
                send(slots.app, [(shift.claimed.shard_id, shift.claimed.queue)])
            return
        except OUTAGE_ERRORS:
            if slots.stopping.wait(AGAIN_S):
                return


class ShiftRunner:
    """Runs a claimed shard until it is done, the shift is over, the worker stops, or the lease is lost.

    Where the solves' cores are all that there are, this thread and they take turns.
    """

    def __init__(
        self, claimed: ClaimedShard, keeper: KeeperClient, slots: Slots, recorder: Recorder, outbox: Outbox
    ) -> None:
        self.claimed, self.outbox = claimed, outbox
        self._keeper, self._slots, self._recorder = keeper, slots, recorder
        self._family = entry(claimed.backend).family
        self._suspect = claimed.attempts > 0
        self._todo: deque[Planned] = deque()
        self._out: deque[tuple[int, Planned, Restore]] = deque()
        self._wall_s, self._done = 0.0, 0

    def work(self) -> None:
        """Do it."""
        self._todo.extend(planned(self._slots.engine, self.claimed))
        if self.claimed.attempts >= ATTEMPTS:
            self._give_up_on_first()
        over = time.monotonic() + SHIFT_S
        flush_at = time.monotonic() + FLUSH_S
        try:
            while self._hand_out(time.monotonic() < over) or self._out:
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
        """How long a flush that is due waits for the end of a round: not for that of a long run."""
        return PATIENCE_S if self._keeper.in_turns and self._out else 0.0

    def _hand_out(self, wanted: bool) -> bool:
        """Keep the keeper in work; one run at a time, marked before it starts, when the shard is suspect."""
        if not wanted or not self._todo or self._slots.stopping.is_set() or not self.outbox.takes_more:
            return False
        ahead = 1 if self._suspect else self._ahead()
        if len(self._out) > (0 if self._keeper.in_turns else ahead // 2):
            return True
        if self._suspect and (self.outbox.away or not self._mark()):
            return False
        runs = [self._todo.popleft() for _ in range(min(len(self._todo), ahead - len(self._out)))]
        jobs = [self._job(run) for run in runs]
        if not self._todo:
            # Now, and not when the slot would wait for it. Supervision does it otherwise.
            with suppress(*OUTAGE_ERRORS):
                enqueue(self._slots.app, self._slots.engine, self.claimed.batch_id)
        self._keeper.submit(jobs, self.claimed.limits, self.claimed.asked)
        return True

    def _ahead(self) -> int:
        """How many runs fill AHEAD_S, going by those done so far: one at first, and then not too many at once."""
        if not self._done:
            return 1
        return int(min(MOST_AHEAD, 3 * self._done, max(1, AHEAD_S / self._mean_s)))

    @property
    def _mean_s(self) -> float:
        return max(self._wall_s, 1e-6) / max(self._done, 1)

    def _job(self, run: Planned) -> Job:
        number = next(_numbers)
        seed = self.claimed.seed + run.repeat
        text, restore = permuted(run, seed) if self.claimed.permuted else (run.text, list)
        self._out.append((number, run, restore))
        return Job(number, self._family, self.claimed.configuration, run.kind, text, seed)

    def _collect(self, within_s: float) -> None:
        """Take the answers that have come, each look a pause after the last while the keeper has enough in hand."""
        if not self._keeper.in_turns and (len(self._out) - 1) * self._mean_s > 2 * PAUSE_S:
            self._slots.stopping.wait(PAUSE_S)
        for answer in self._keeper.answers(within_s):
            number, run, restore = self._out[0]
            if answer["n"] != number:
                raise SandboxError(f"an answer to run {answer['n']} came where {number} was due")
            self.outbox.add(self._recorder.row(run, restored(answer, restore) if self.claimed.permuted else answer))
            self._out.popleft()  # not before its row is there: what is out counts as not done
            self._wall_s += answer["wall_s"]
            self._done += 1

    def _flush(self) -> bool:
        """Store what has come, and where the next run is; False when the lease is lost."""
        left = [run for _, run, _ in itertools.islice(self._out, 1)] or [*itertools.islice(self._todo, 1)]
        return self.outbox.flush(left[0].index if left else self.claimed.stop)

    def _mark(self) -> bool:
        """Note which run is begun next; False where that cannot be, as the lease or the database is gone."""
        at = self._todo[0].index
        with suppress(*OUTAGE_ERRORS), writing(self._slots.engine) as connection:
            return renew(connection, self.claimed, at, marked=at)
        return False

    def _give_up_on_first(self) -> None:
        """The run at the position took its worker with it too often: that is its outcome."""
        if not self._todo or self._todo[0].index != self.claimed.position:
            return  # it came late
        detail = f"{ATTEMPTS} workers in a row were lost during this run"
        self.outbox.add(self._recorder.failed(self._todo.popleft(), detail))
        self._flush()
