"""A worker process from start to end: checks, registration, supervision, shutdown.

Everything hangs on Celery's own signals, so that ``scheduler worker``, plain ``celery -A workers worker`` and the
worker inside an embedded ``submit`` are the same.
"""

from __future__ import annotations

from typing import Any

from celery import Celery, signals
from celery.utils.log import get_logger

from models.engine import open_engine
from models.schema import require_current
from problems.errors import CagematchError, ServiceError
from workers.connections import MARKER, Connections
from workers.pools import installed, pools_of_queues
from workers.slots import Slots
from workers.supervision import Supervisor

log = get_logger(__name__)


def attach(app: Celery) -> None:
    """Make a worker of this application register itself, supervise, and leave cleanly."""

    def starting(instance: Any, **_: Any) -> None:
        try:
            start(app, instance)
        except CagematchError as error:
            # Celery logs what a signal's receiver raises and goes on; this worker must not.
            raise SystemExit(f"cagematch: {error}") from None

    def stopping(**_: Any) -> None:
        app.slots.stop()

    def stopped(**_: Any) -> None:
        app.supervisor.stop()
        app.slots.leave()

    signals.celeryd_after_setup.connect(starting, weak=False, dispatch_uid=f"start-{id(app)}")
    signals.worker_ready.connect(lambda **_: app.supervisor.start(), weak=False, dispatch_uid=f"ready-{id(app)}")
    signals.worker_shutting_down.connect(stopping, weak=False, dispatch_uid=f"stop-{id(app)}")
    signals.worker_shutdown.connect(stopped, weak=False, dispatch_uid=f"stopped-{id(app)}")


def start(app: Celery, worker: Any) -> None:
    """Check everything, then register."""
    if "thread" not in worker.pool_cls.__module__:
        raise ServiceError(
            f"the pool {worker.pool_cls.__module__.rpartition('.')[2]!r} is refused: its processes may have no children "
            "and its time limits do not reach into solvers. Leave --pool out, or say --pool threads"
        )
    connections: Connections = app.connections
    engine = open_engine(connections.database)
    require_current(engine, upgrade_it=connections.local_file)
    if not connections.embedded:
        check_broker(app)
    queues = list(app.amqp.queues.consume_from)
    versions = installed(pools_of_queues(queues))
    app.slots = Slots(engine, app, slots=worker.concurrency, queues=queues, versions=versions)
    app.supervisor = Supervisor(app, engine, app.slots, app.only_batch)


def check_broker(app: Celery) -> None:
    """Refuse a Redis that may drop messages, and leave our marker in ours."""
    with app.connection_for_write() as connection:
        connection.ensure_connection(max_retries=1, timeout=5)
        client = getattr(connection.default_channel, "client", None)
        if client is None or not hasattr(client, "config_get"):
            return
        policy = client.config_get("maxmemory-policy").get("maxmemory-policy", "noeviction")
        if policy != "noeviction":
            raise ServiceError(
                f"Redis has maxmemory-policy {policy}, which drops queued messages silently; set it to noeviction"
            )
        client.set(MARKER, "1")
