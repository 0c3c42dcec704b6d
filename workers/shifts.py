"""A shift: what a slot does with a shard that it has claimed, for half a minute at most."""

from __future__ import annotations

import itertools
import time
from collections import deque

from celery.utils.log import get_logger

from models.engine import writing
from problems.errors import SandboxError
from problems.problem import Restore
from workers.backends import entry
from workers.cage import Cage, Job
from workers.conditions import Conditions
from workers.configurations import configuration
from workers.permuting import permuted, restored
from workers.queueing import enqueue, send
from workers.results import Recorder, Row
from workers.shards import Claim, Planned, claim, configuration_of, finish, planned, put_back, renew
from workers.slots import Slots

SHIFT_S = 30.0
FLUSH_S = 0.8
AHEAD_S = 0.3  # how much work the keeper has in hand
MOST_AHEAD = 200
PAUSE_S = 0.05  # between two looks for answers: each look costs the solvers' cores as much as a row does
ATTEMPTS = 3  # of a run that takes its worker with it
log = get_logger(__name__)
_numbers = itertools.count(1)


def work_on(shard_id: int, slots: Slots) -> None:
    """Lease cores, claim, work, give both back. A second delivery of a message finds nothing to claim."""
    text = configuration_of(slots.engine, shard_id)
    if text is None or slots.stopping.is_set():
        return
    threads = configuration(text).threads
    shift: Shift | None = None
    lost = False
    slots.reference.renew()
    try:
        cage = slots.cage()
        cores = cage.lease(threads)
        claimed = claim(slots.engine, shard_id, slots.worker_id)
        if claimed:
            recorder = Recorder(slots.engine, claimed, slots.worker_id, cores, threads)
            conditions = Conditions(claimed.batch_id, slots.worker_id, cores, slots.reference)
            shift = Shift(claimed, cage, slots, recorder, conditions)
            shift.work()
        cage.release()
    except SandboxError as error:
        lost = not slots.stopping.is_set()
        if lost:
            log.warning("shard %s: %s", shard_id, error)
        slots.drop_cage()
    except BaseException:
        slots.drop_cage()  # it may be in the middle of something; the lease runs out by itself
        raise
    if shift and not shift.finished and put_back(slots.engine, shift.claimed, lost=lost):
        send(slots.app, [(shift.claimed.shard_id, shift.claimed.queue)])


class Shift:
    """Runs a claimed shard until it is done, the shift is over, the worker stops, or the lease is lost."""

    def __init__(self, claimed: Claim, cage: Cage, slots: Slots, recorder: Recorder, conditions: Conditions) -> None:
        self.claimed, self._cage, self._slots = claimed, cage, slots
        self._recorder, self._conditions = recorder, conditions
        self._family = entry(claimed.backend).family
        self._suspect = claimed.attempts > 0
        self._todo: deque[Planned] = deque()
        self._out: deque[tuple[int, Planned, Restore]] = deque()
        self._rows: list[Row] = []
        self._position = claimed.position
        self._wall_s, self._done = 0.0, 0

    @property
    def finished(self) -> bool:
        """Whether every run of the shard is stored."""
        return self._position == self.claimed.stop

    def work(self) -> None:
        """Do it."""
        self._todo.extend(planned(self._slots.engine, self.claimed))
        if self.claimed.attempts >= ATTEMPTS:
            self._give_up_on_first()
        over = time.monotonic() + SHIFT_S
        flush_at = time.monotonic() + FLUSH_S
        try:
            while self._hand_out(time.monotonic() < over) or self._out:
                self._collect(max(0.01, flush_at - time.monotonic()))
                if time.monotonic() >= flush_at or self._suspect:
                    flush_at = time.monotonic() + FLUSH_S
                    if not self._flush():
                        self._cage.abort()
                        return
        except SandboxError:
            self._flush()
            raise
        self._flush()

    def _hand_out(self, wanted: bool) -> bool:
        """Keep the keeper in work; one run at a time, marked before it starts, when the shard is suspect."""
        if not wanted or not self._todo or self._slots.stopping.is_set():
            return False
        ahead = 1 if self._suspect else self._ahead()
        if len(self._out) > ahead // 2:
            return True
        runs = [self._todo.popleft() for _ in range(min(len(self._todo), ahead - len(self._out)))]
        if self._suspect and not self._mark():
            return False
        self._cage.submit([self._job(run) for run in runs], self.claimed.limits, self.claimed.asked)
        if not self._todo:
            # Now, while there is work in hand, and not when the slot would wait for it.
            enqueue(self._slots.app, self._slots.engine, self.claimed.batch_id)
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
        if (len(self._out) - 1) * self._mean_s > 2 * PAUSE_S:
            self._slots.stopping.wait(PAUSE_S)
        for answer in self._cage.answers(within_s):
            number, run, restore = self._out.popleft()
            if answer["n"] != number:
                raise SandboxError(f"an answer to run {answer['n']} came where {number} was due")
            self._wall_s += answer["wall_s"]
            self._done += 1
            self._rows.append(self._recorder.row(run, restored(answer, restore) if self.claimed.permuted else answer))

    def _flush(self) -> bool:
        """Store what has come and renew the lease, in one transaction; False when the lease is lost."""
        if self.finished:
            return True
        position = self._position + len(self._rows)
        with writing(self._slots.engine) as connection:
            if not renew(connection, self.claimed, position):
                return False
            self._recorder.store(connection, self._rows, self._conditions.store(connection))
            if position == self.claimed.stop:
                finish(connection, self.claimed)
        self._position = position
        self._rows.clear()
        return True

    def _mark(self) -> bool:
        with writing(self._slots.engine) as connection:
            return renew(connection, self.claimed, self._position, marked=self._position)

    def _give_up_on_first(self) -> None:
        """The run at the position took its worker with it too often: that is its outcome."""
        detail = f"{ATTEMPTS} workers in a row were lost during this run"
        self._rows.append(self._recorder.failed(self._todo.popleft(), detail))
        with writing(self._slots.engine) as connection:
            renew(connection, self.claimed, self._position, attempts=0)
        self._flush()
