"""A worker process from start to end: checks, registration, supervision, shutdown.

Everything is attached to Celery's signals. So ``scheduler worker``, ``celery -A cagematch.workers worker`` and the
worker inside an embedded ``submit`` behave the same.
"""

from __future__ import annotations

import sys
import threading
from typing import Any

from celery import Celery, signals
from celery.utils.log import get_logger
from kombu.exceptions import OperationalError
from redis.exceptions import RedisError, ResponseError
from sqlalchemy.exc import SQLAlchemyError

from cagematch.models.engine import open_engine
from cagematch.models.schema import require_current
from cagematch.problems.errors import CagematchError, ServiceError, first_line
from cagematch.workers.connections import BROKER, DATABASE, MARKER, Connections, without_password
from cagematch.workers.machine.cgroups import move_to_own_group
from cagematch.workers.machine.cores import require_locks
from cagematch.workers.machine.orphans import end_orphans
from cagematch.workers.machine.topology import move_off_leased_cores
from cagematch.workers.queues.pools import installed, pools_of_queues
from cagematch.workers.service.supervision import Supervisor
from cagematch.workers.shards.slots import Slots

BROKER_TIMEOUT_S = 5  # Seconds for the broker to answer when a worker starts.
log = get_logger(__name__)


def attach(app: Celery) -> None:
    """Have each worker of an application check its services, register, supervise, and stop cleanly."""
    app.slots = app.supervisor = None

    def starting(instance: Any, **_: Any) -> None:
        # Celery logs an exception of a signal's receiver and continues; this worker must not. SystemExit ends it.
        try:
            start(app, instance)
        except Exception as error:
            log.debug("the worker cannot start", exc_info=True)
            print(f"cagematch: {_message(error)}", file=sys.stderr)  # noqa: T201 - logging is not configured yet
            sys.exit(2)

    def ready(**_: Any) -> None:
        if app.supervisor:
            app.supervisor.start()

    def stopping(**_: Any) -> None:
        if app.slots:
            log.info("stopping: unfinished work returns to the queue")
            app.slots.stop()
            if app.supervisor and not app.connections.embedded:
                threading.Thread(target=app.supervisor.exit_in_outage, daemon=True).start()

    def stopped(**_: Any) -> None:
        if app.supervisor:
            app.supervisor.stop()
            app.slots.leave()

    signals.celeryd_after_setup.connect(starting, weak=False, dispatch_uid=f"start-{id(app)}")
    signals.worker_ready.connect(ready, weak=False, dispatch_uid=f"ready-{id(app)}")
    signals.worker_shutting_down.connect(stopping, weak=False, dispatch_uid=f"stop-{id(app)}")
    signals.worker_shutdown.connect(stopped, weak=False, dispatch_uid=f"stopped-{id(app)}")


def start(app: Celery, worker: Any) -> None:
    """Check the settings, the services and the host, then register the worker.

    Raises
    ------
    CagematchError
        A setting is invalid, or the database, the broker or the locks of the cores cannot be used.
    SQLAlchemyError
        The database failed.
    """
    connections: Connections = app.connections
    _check_settings(app, worker)
    engine = open_engine(connections.database, unattended=True)
    require_current(engine, upgrade_it=connections.local_file)
    if not connections.embedded:
        check_broker(app)
    move_off_leased_cores()
    move_to_own_group()
    require_locks()
    end_orphans()
    queues = list(app.amqp.queues.consume_from)
    versions = installed(pools_of_queues(queues))
    app.slots = Slots(engine, app, slots=worker.concurrency, queues=queues, versions=versions)
    app.supervisor = Supervisor(app, engine, app.slots, app.only_batch)


def _check_settings(app: Celery, worker: Any) -> None:
    pool = worker.pool_cls.__module__.rpartition(".")[2]
    if pool != "thread":
        raise ServiceError(
            f"found the Celery pool {pool!r}, expected threads: each slot is a thread with its own solver process, "
            "which enforces the limits. Remove --pool, or use --pool threads"
        )
    if app.connections.embedded and app.only_batch is None:
        raise ServiceError(
            "found a broker in the memory of this worker, expected one that other processes can reach: "
            f"set {BROKER} and {DATABASE}, or run `docker compose up --detach` in a clone"
        )


def check_broker(app: Celery) -> None:
    """Check that the broker answers and, for Redis, that it keeps all messages; set our marker in Redis.

    Raises
    ------
    ServiceError
        The broker is unreachable, or Redis has an eviction policy that drops messages.
    """
    address = without_password(app.connections.broker)
    try:
        with app.connection_for_write() as connection:
            connection.ensure_connection(max_retries=1, timeout=BROKER_TIMEOUT_S)
            client = getattr(connection.default_channel, "client", None)
            if client is not None and hasattr(client, "config_get"):
                _require_noeviction(client, address)
                client.set(MARKER, "1")
    except (OperationalError, RedisError, OSError) as error:
        raise ServiceError(f"the broker {address} is unreachable (check {BROKER}): {first_line(error)}") from error


def _require_noeviction(client: Any, address: str) -> None:
    try:
        policy = client.config_get("maxmemory-policy").get("maxmemory-policy", "noeviction")
    except ResponseError:
        log.warning("Redis does not report its maxmemory-policy, expected noeviction, as others drop messages silently")
        return
    if policy != "noeviction":
        raise ServiceError(
            f"the Redis {address} has maxmemory-policy {policy}, which drops messages silently; expected noeviction; "
            "run `redis-cli config set maxmemory-policy noeviction`"
        )


def _message(error: Exception) -> str:
    """One line for the user who started the worker."""
    if isinstance(error, CagematchError):
        return str(error)
    if isinstance(error, SQLAlchemyError):
        return f"the database failed: {first_line(error)}"
    return f"unexpected {type(error).__name__}: {first_line(error)} (run with --loglevel DEBUG for the traceback)"
