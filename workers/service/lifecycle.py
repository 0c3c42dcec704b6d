"""A worker process from start to end: checks, registration, supervision, shutdown.

Everything hangs on Celery's own signals, so that ``scheduler worker``, plain ``celery -A workers worker`` and the
worker inside an embedded ``submit`` are the same.
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
from cagematch.workers.connections import MARKER, Connections, without_password
from cagematch.workers.machine.cgroups import move_to_own_group
from cagematch.workers.machine.cores import require_locks
from cagematch.workers.machine.orphans import end_orphans
from cagematch.workers.machine.topology import move_off_leased_cores
from cagematch.workers.queues.pools import installed, pools_of_queues
from cagematch.workers.service.supervision import Supervisor
from cagematch.workers.shards.slots import Slots

log = get_logger(__name__)


def attach(app: Celery) -> None:
    """Make a worker of this application register itself, supervise, and leave cleanly."""
    app.slots = app.supervisor = None

    def starting(instance: Any, **_: Any) -> None:
        # Celery logs what a signal's receiver raises, and goes on; this worker must not. An exit it lets pass.
        try:
            start(app, instance)
        except Exception as error:
            log.debug("refused to start", exc_info=True)
            print(f"cagematch: {_in_words(error)}", file=sys.stderr)  # noqa: T201 - logging is not set up yet
            sys.exit(2)

    def ready(**_: Any) -> None:
        if app.supervisor:
            app.supervisor.start()

    def stopping(**_: Any) -> None:
        if app.slots:
            log.info("stopping: what is under way is put back, and goes on with the next worker that serves it")
            app.slots.stop()
            if app.supervisor and not app.connections.embedded:
                threading.Thread(target=app.supervisor.end_at_last, daemon=True).start()

    def stopped(**_: Any) -> None:
        if app.supervisor:
            app.supervisor.stop()
            app.slots.leave()

    signals.celeryd_after_setup.connect(starting, weak=False, dispatch_uid=f"start-{id(app)}")
    signals.worker_ready.connect(ready, weak=False, dispatch_uid=f"ready-{id(app)}")
    signals.worker_shutting_down.connect(stopping, weak=False, dispatch_uid=f"stop-{id(app)}")
    signals.worker_shutdown.connect(stopped, weak=False, dispatch_uid=f"stopped-{id(app)}")


def start(app: Celery, worker: Any) -> None:
    """Check everything, then register."""
    pool = worker.pool_cls.__module__.rpartition(".")[2]
    if pool != "thread":
        raise ServiceError(
            f"the pool {pool!r} is refused: each slot is a thread that has a solver process of its own, which is "
            "where limits are kept. Leave --pool out, or say --pool threads"
        )
    connections: Connections = app.connections
    if connections.embedded and app.only_batch is None:
        raise ServiceError(
            "this worker would wait at a broker inside its own process, where nobody sends anything: set "
            "CAGEMATCH_BROKER_URL and CAGEMATCH_DATABASE_URL, or start the compose stack of this folder"
        )
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


def check_broker(app: Celery) -> None:
    """Refuse a broker that does not answer, or a Redis that may drop messages; leave our marker in ours."""
    address = without_password(app.connections.broker)
    try:
        with app.connection_for_write() as connection:
            connection.ensure_connection(max_retries=1, timeout=5)
            client = getattr(connection.default_channel, "client", None)
            if client is not None and hasattr(client, "config_get"):
                _require_noeviction(client, address)
                client.set(MARKER, "1")
    except (OperationalError, RedisError, OSError) as error:
        raise ServiceError(f"the broker {address} does not answer: {first_line(error)}") from error


def _require_noeviction(client: Any, address: str) -> None:
    try:
        policy = client.config_get("maxmemory-policy").get("maxmemory-policy", "noeviction")
    except ResponseError:
        log.warning("Redis does not tell its maxmemory-policy; any other than noeviction would drop messages silently")
        return
    if policy != "noeviction":
        raise ServiceError(
            f"the Redis {address} has maxmemory-policy {policy}, which drops queued messages silently; "
            "set it to noeviction"
        )


def _in_words(error: Exception) -> str:
    """One line for whoever started the worker."""
    if isinstance(error, CagematchError):
        return str(error)
    if isinstance(error, SQLAlchemyError):
        return f"the database failed: {first_line(error)}"
    return f"unexpected {type(error).__name__}: {first_line(error)} (--loglevel DEBUG shows more)"
