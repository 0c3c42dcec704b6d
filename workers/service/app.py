"""The Celery application and its settings."""

from __future__ import annotations

import socket
import sys
from typing import Any, NoReturn

from celery import Celery
from kombu import Queue
from kombu.transport import TRANSPORT_ALIASES

from cagematch.workers.connections import Connections, find_connections
from cagematch.workers.machine.topology import usable_cores
from cagematch.workers.queues.pools import POOLS, installed, queues

# A connection to Redis whose other end says nothing any more, as its network was cut, is given up after ten seconds.
# One that cannot be made is not tried again but by the consumer: who sends has something else to do, and what was not
# sent supervision sends later.
ALIVE: dict[str, Any] = {
    "max_retries": 0,
    "socket_connect_timeout": 5,
    "socket_timeout": 10,
    "socket_keepalive": True,
    "socket_keepalive_options": {
        socket.TCP_KEEPIDLE: 5,
        socket.TCP_KEEPINTVL: 2,
        socket.TCP_KEEPCNT: 3,
        socket.TCP_USER_TIMEOUT: 10_000,
    },
}
VISIBILITY_S = 3600  # Redis hands an unacknowledged message out again after this; far above a shift


class App(Celery):
    """Celery's application, but for the exit code of a worker, which Celery drops when it is started from code."""

    def worker_main(self, argv: list[str] | None = None) -> NoReturn:
        """Run a worker; end the process with the worker's exit code."""
        from celery.bin.celery import celery

        celery.params[0].default = self
        sys.exit(celery.main(args=argv, standalone_mode=False))


def make_app(connections: Connections | None = None, only_batch: int | None = None) -> Celery:
    """Make the application. Its workers supervise every batch, or ``only_batch``."""
    app = App("cagematch")
    app.connections = connections or find_connections()
    app.only_batch = only_batch
    app.consumer = None
    app.conf.update(_settings(app.connections))
    TRANSPORT_ALIASES.update(dict.fromkeys(("redis", "rediss"), "cagematch.workers.queues.redis_transport:Transport"))
    app.autodiscover_tasks(["cagematch.workers.service"], force=True)
    from cagematch.workers.service import lifecycle

    lifecycle.attach(app)
    return app


def _settings(connections: Connections) -> dict[str, Any]:
    options: dict[str, Any] = {"visibility_timeout": VISIBILITY_S} | ALIVE
    if connections.embedded:
        options = {"polling_interval": 0.01}  # otherwise its queues are looked at once a second
    return {
        "broker_url": connections.broker,
        "broker_transport_options": options,
        "broker_connection_retry_on_startup": True,
        "broker_connection_max_retries": None,  # an outage ends some day
        "worker_pool": "threads",
        "worker_concurrency": len(usable_cores()),
        "worker_prefetch_multiplier": 1,
        "worker_enable_prefetch_count_reduction": False,
        "worker_hijack_root_logger": not connections.embedded,
        "worker_redirect_stdouts": False,
        "worker_enable_remote_control": not connections.embedded,
        "worker_send_task_events": not connections.embedded,
        "worker_cancel_long_running_tasks_on_connection_loss": False,
        "task_acks_late": True,
        "task_ignore_result": True,
        "task_send_sent_event": not connections.embedded,
        "task_serializer": "json",
        "accept_content": ["json"],
        "worker_consumer": "cagematch.workers.queues.gate:Consumer",
        "task_queues": [Queue(name) for name in queues(list(installed(list(POOLS))))],
        "task_create_missing_queues": True,
        "timezone": "UTC",
    }
