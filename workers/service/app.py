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

TRANSPORT = "cagematch.workers.queues.redis_transport:Transport"
CONSUMER = "cagematch.workers.queues.gate:Consumer"

# Options of the connections to Redis. A connection whose other end is silent is closed after 10 s.
# Only the consumer retries to connect: a sender has other work, and the supervisor sends again what was not sent.
REDIS_OPTIONS: dict[str, Any] = {
    "max_retries": 0,
    "socket_connect_timeout": 5,  # seconds
    "socket_timeout": 10,  # seconds
    "socket_keepalive": True,
    "socket_keepalive_options": {
        socket.TCP_KEEPIDLE: 5,  # seconds
        socket.TCP_KEEPINTVL: 2,  # seconds
        socket.TCP_KEEPCNT: 3,
        socket.TCP_USER_TIMEOUT: 10_000,  # milliseconds
    },
    # Seconds after which Redis delivers an unacknowledged message again, far more than a shift takes.
    "visibility_timeout": 3600,
}

# The broker in memory checks its queues once per second by default, which is longer than a small batch takes.
MEMORY_OPTIONS: dict[str, Any] = {"polling_interval": 0.01}  # seconds


class App(Celery):
    """Celery's application; its ``worker_main`` keeps the worker's exit code, which Celery's own discards."""

    def worker_main(self, argv: list[str] | None = None) -> NoReturn:
        """Run a worker, and end the process with its exit code.

        Raises
        ------
        SystemExit
            Always, with the worker's exit code.
        """
        from celery.bin.celery import celery

        celery.params[0].default = self
        sys.exit(celery.main(args=argv, standalone_mode=False))


def make_app(connections: Connections | None = None, only_batch: int | None = None) -> Celery:
    """Create the application.

    Parameters
    ----------
    connections
        The addresses of the services, by default those of `find_connections`.
    only_batch
        The one batch that its workers supervise, by default all.

    Raises
    ------
    ServiceError
        The addresses are invalid.
    """
    app = App("cagematch")
    app.connections = connections or find_connections()
    app.only_batch = only_batch
    app.consumer = None
    app.conf.update(_broker_settings(app.connections) | _worker_settings(app.connections) | _task_settings())
    TRANSPORT_ALIASES.update(dict.fromkeys(("redis", "rediss"), TRANSPORT))
    app.autodiscover_tasks(["cagematch.workers.service"], force=True)
    from cagematch.workers.service import lifecycle

    lifecycle.attach(app)
    return app


def _broker_settings(connections: Connections) -> dict[str, Any]:
    return {
        "broker_url": connections.broker,
        "broker_transport_options": MEMORY_OPTIONS if connections.embedded else REDIS_OPTIONS,
        # A worker outlasts every outage of the broker.
        "broker_connection_retry_on_startup": True,
        "broker_connection_max_retries": None,
    }


def _worker_settings(connections: Connections) -> dict[str, Any]:
    distributed = not connections.embedded
    return {
        "worker_consumer": CONSUMER,
        # A slot is a thread that waits for its keeper, so threads cost nothing. A message is taken when a slot is free.
        "worker_pool": "threads",
        "worker_concurrency": len(usable_cores()),
        "worker_prefetch_multiplier": 1,
        "worker_enable_prefetch_count_reduction": False,
        # Shards in progress continue during an outage of the broker, as their leases are in the database.
        "worker_cancel_long_running_tasks_on_connection_loss": False,
        # An embedded worker shares its process with the command, and does not change its logging and output.
        "worker_hijack_root_logger": distributed,
        "worker_redirect_stdouts": False,
        # For Flower and `celery inspect`, which reach distributed workers only.
        "worker_enable_remote_control": distributed,
        "worker_send_task_events": distributed,
        "task_send_sent_event": distributed,
    }


def _task_settings() -> dict[str, Any]:
    return {
        "task_queues": [Queue(name) for name in queues(list(installed(list(POOLS))))],
        "task_create_missing_queues": True,
        # A message is acknowledged after its shift, so it returns when the worker is lost. Results go to the database.
        "task_acks_late": True,
        "task_ignore_result": True,
        "task_serializer": "json",
        "accept_content": ["json"],
        "timezone": "UTC",
    }
