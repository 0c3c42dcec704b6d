"""A Celery worker inside this process: what ``submit`` uses when no broker is configured."""

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
LOOK_S = 0.05  # how often the worker looks whether it is to stop; Celery's own pauses are of one and two seconds
ENDING = (signal.SIGINT, signal.SIGTERM, signal.SIGHUP)


@contextmanager
def embedded_worker(app: Celery) -> Iterator[Callable[[], None]]:
    """Run a worker on the in-memory broker until the block ends; then kill what it runs and wait for it.

    Gives a function that raises ServiceError when the worker has ended by itself.
    """
    ready = threading.Event()
    failed: list[BaseException] = []

    def started(sender: Any, **_: Any) -> None:
        _look_often(sender)
        ready.set()

    signals.worker_ready.connect(started, weak=False, dispatch_uid="embedded-ready")
    warnings.filterwarnings("ignore", message="You're running the worker with superuser")
    options = {"pool": "threads", "loglevel": "ERROR", "timer_precision": LOOK_S}
    worker = app.Worker(quiet=True, without_gossip=True, without_mingle=True, **options)

    def serve() -> None:
        try:
            worker.start()
        except BaseException as error:  # noqa: BLE001 - handed to the thread that waits
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
        with _undisturbed():
            if app.slots:
                app.slots.stop()
            worker.stop()  # its supervisor too, and it notes that it has left
            thread.join(STOP_S)


@contextmanager
def interruptible() -> Iterator[None]:
    """Within the block, to be told to terminate, or to lose the terminal, is a KeyboardInterrupt like Ctrl-C."""
    before = {number: signal.signal(number, signal.default_int_handler) for number in ENDING}
    try:
        yield
    finally:
        for number, handler in before.items():
            signal.signal(number, handler)


@contextmanager
def _undisturbed() -> Iterator[None]:
    """Within the block, which is short, an impatient second Ctrl-C does nothing."""
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
    return "what it said stands above"


def _look_often(consumer: Any) -> None:
    """Let the worker notice within LOOK_S that it is to stop."""
    drain = consumer.connection.drain_events
    consumer.connection.drain_events = lambda timeout=None: drain(timeout=min(LOOK_S, timeout or LOOK_S))
