"""The embedded worker: a Celery worker in this process, which ``submit`` uses when no broker is configured."""

from __future__ import annotations

import signal
import threading
import warnings
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from typing import Any

from celery import Celery, signals

from cagematch.problems.errors import ServiceError

START_S = 60.0
STOP_S = 30.0
STOP_CHECK_S = 0.05  # how often the worker checks for a stop request; Celery waits for one to two seconds
ENDING = (signal.SIGINT, signal.SIGTERM, signal.SIGHUP)


@contextmanager
def embedded_worker(app: Celery) -> Iterator[Callable[[], None]]:
    """Run a worker on the in-memory broker within the block, and stop it with its in-flight runs at the end.

    Yields a check that raises ServiceError if the worker has ended. Raises ServiceError if it does not start.
    """
    ready = threading.Event()
    failed: list[BaseException] = []

    def started(sender: Any, **_: Any) -> None:
        _check_often(sender)
        ready.set()

    signals.worker_ready.connect(started, weak=False, dispatch_uid="embedded-ready")
    warnings.filterwarnings("ignore", message="You're running the worker with superuser")
    options = {"pool": "threads", "loglevel": "ERROR", "timer_precision": STOP_CHECK_S}
    worker = app.Worker(quiet=True, without_gossip=True, without_mingle=True, **options)

    def serve() -> None:
        try:
            worker.start()
        except BaseException as error:  # noqa: BLE001 - reported by the waiting thread
            failed.append(error)
        ready.set()

    def check() -> None:
        if not thread.is_alive():
            raise ServiceError(f"the embedded worker ended: {_reason(failed)}")

    thread = threading.Thread(target=serve, name="embedded-worker", daemon=True)
    try:
        thread.start()
        if not ready.wait(START_S) or failed or not thread.is_alive():
            raise ServiceError(f"the embedded worker did not start: {_reason(failed)}")
        yield check
    finally:
        with _signals_ignored():
            if app.slots:
                app.slots.stop()
            worker.stop()  # also stops its supervisor, and records that the worker has stopped
            thread.join(STOP_S)


@contextmanager
def interruptible() -> Iterator[None]:
    """Within the block, SIGTERM and SIGHUP raise KeyboardInterrupt, as Ctrl-C does."""
    before = {number: signal.signal(number, signal.default_int_handler) for number in ENDING}
    try:
        yield
    finally:
        for number, handler in before.items():
            signal.signal(number, handler)


@contextmanager
def _signals_ignored() -> Iterator[None]:
    """Within the block, which is short, a second Ctrl-C has no effect."""
    if threading.current_thread() is not threading.main_thread():
        yield
        return
    before = {number: signal.signal(number, signal.SIG_IGN) for number in ENDING}
    try:
        yield
    finally:
        for number, handler in before.items():
            signal.signal(number, handler)


def _reason(failed: list[BaseException]) -> str:
    if failed and not isinstance(failed[0], SystemExit):
        return str(failed[0])
    return "see its messages above"


def _check_often(consumer: Any) -> None:
    """Let the worker stop within STOP_CHECK_S of a request."""
    drain = consumer.connection.drain_events
    consumer.connection.drain_events = lambda timeout=None: drain(timeout=min(STOP_CHECK_S, timeout or STOP_CHECK_S))
