"""The gate: a worker takes only messages as `cagematch.workers.queues.dispatch` sends them, and drops all others.

Any client of the broker can send anything, and Celery raises on much of it. A message that ends the worker would be
delivered to it again after a restart. So the gate checks each message before Celery does, and logs what it drops.
"""

from __future__ import annotations

import re
from collections.abc import Callable, Collection
from reprlib import Repr
from typing import Any

from celery import Celery
from celery.utils.log import get_logger
from celery.worker import state
from celery.worker.consumer import Consumer as CeleryConsumer

from cagematch.workers.queues.names import TASK

LARGEST_ID = 2**63 - 1  # The largest primary key of the databases.
MESSAGE_ID = re.compile(r"[\w-]{1,64}", re.ASCII)

# Consecutive checks by the supervisor that find waiting messages, a free slot and a silent consumer,
# before the consumer reconnects.
SILENT_CHECKS = 5

EMPTY_HEADERS = ("eta", "expires", "timelimit")  # Headers that our messages never set.
log = get_logger(__name__)
shortened = Repr().repr


class Consumer(CeleryConsumer):
    """Celery's consumer behind the gate, which can also reconnect on request.

    Attributes
    ----------
    silent_checks
        Consecutive checks in which messages waited and none arrived.
    """

    silent_checks = 0

    def create_task_handler(self, *arguments: Any, **named: Any) -> Callable[[Any], None]:
        """Return Celery's message handler behind the gate. Celery calls it once per connection."""
        handle = super().create_task_handler(*arguments, **named)
        queues = self.app.amqp.queues.consume_from
        self.app.consumer = self
        self.silent_checks = 0

        def gate(message: Any) -> None:
            self.silent_checks = 0
            if fault := find_fault(message, queues):
                log.warning("message dropped: %s", fault)
                message.reject_log_error(log, self.connection_errors)
            else:
                handle(message)

        return gate

    def reconnect(self) -> None:
        """Have the consumer's own thread close its connection and open another."""

        def drop() -> None:
            raise ConnectionResetError("the consumer is silent while messages wait")

        self.hub.call_soon(drop)


def reconnect_if_silent(app: Celery, client: Any) -> None:
    """Reconnect the consumer if it receives nothing while messages wait and a slot is free.

    After an outage a consumer may wait without limit on a dead connection.
    """
    consumer: Consumer | None = app.consumer
    if consumer is None:
        return
    waiting = any(client.llen(name) for name in app.amqp.queues.consume_from)
    idle = len(state.reserved_requests) < app.slots.count
    consumer.silent_checks = consumer.silent_checks + 1 if waiting and idle else 0
    if consumer.silent_checks > SILENT_CHECKS:
        log.warning("the consumer is silent while messages wait; reconnecting")
        consumer.silent_checks = 0
        consumer.reconnect()


def find_fault(message: Any, queues: Collection[str]) -> str | None:
    """Return what is wrong with a message for a worker of these queues, None when it is valid."""
    headers, info = message.headers, message.delivery_info
    if not isinstance(headers, dict) or headers.get("task") != TASK:
        return f"found the headers {shortened(headers)}, expected the task {TASK}"
    if not isinstance(number := headers.get("id"), str) or not MESSAGE_ID.fullmatch(number):
        return f"found {shortened(number)}, expected the id of a message"
    if unexpected := {name: headers[name] for name in EMPTY_HEADERS if headers.get(name) not in (None, [None, None])}:
        return f"found the headers {shortened(unexpected)}, expected no {', no '.join(unexpected)}"
    queue = info.get("routing_key") if isinstance(info, dict) else None
    if not isinstance(queue, str) or queue not in queues:
        return f"found the queue {shortened(queue)}, expected one of this worker's queues"
    try:
        body = message.payload
    except Exception as error:
        return f"found a body that cannot be read, expected JSON: {type(error).__name__}: {shortened(str(error))}"
    return None if _is_call(body) else f"found {shortened(body)}, expected the id of a shard"


def _is_call(body: Any) -> bool:
    """Whether a body is the id of one shard, without callbacks or keyword arguments."""
    match body:
        case [[int(number)], {**named}, {**after}] if not named and not any(after.values()):
            return 0 < number <= LARGEST_ID and not isinstance(number, bool)
    return False
