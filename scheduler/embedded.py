"""A Celery worker inside this process: what ``submit`` uses when no broker is configured."""

from __future__ import annotations

import threading
import warnings
from collections.abc import Callable, Iterator
from contextlib import contextmanager

from celery import Celery, signals

from problems.errors import ServiceError

START_S = 30.0


@contextmanager
def embedded_worker(app: Celery) -> Iterator[Callable[[], None]]:
    """Run a worker on the in-memory broker until the block ends; then kill what it runs and wait for it.

    Gives a function that raises ServiceError when the worker has ended by itself.
    """
    ready = threading.Event()
    failed: list[BaseException] = []

    signals.worker_ready.connect(lambda **_: ready.set(), weak=False, dispatch_uid="embedded-ready")
    warnings.filterwarnings("ignore", message="You're running the worker with superuser")
    worker = app.Worker(pool="threads", loglevel="ERROR", quiet=True, without_gossip=True, without_mingle=True)

    def serve() -> None:
        try:
            worker.start()
        except BaseException as error:  # noqa: BLE001 - handed to the thread that waits
            failed.append(error)
        ready.set()

    thread = threading.Thread(target=serve, name="embedded-worker", daemon=True)
    thread.start()
    if not ready.wait(START_S) or failed:
        raise ServiceError(f"the embedded worker did not start: {failed[0] if failed else 'it took too long'}")

    def check() -> None:
        if not thread.is_alive():
            raise ServiceError(f"the embedded worker ended: {failed[0] if failed else 'no reason given'}")

    try:
        yield check
    finally:
        app.slots.stop()
        worker.stop()
        thread.join(timeout=10)
        app.supervisor.stop()
        app.slots.leave()
