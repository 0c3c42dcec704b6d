"""What a worker takes from its queues: messages as `cagematch.workers.queues.dispatch` sends them, and nothing else.

Whoever reaches the broker can put anything there, and Celery stops at much of it: a worker that died of a message would
get it again when it comes back. So each is looked at before Celery does; what is not ours is dropped, and told.
"""

from __future__ import annotations

import re
from collections.abc import Callable, Collection
from reprlib import Repr
from typing import Any

from celery import Celery
from celery.utils.log import get_logger
from celery.worker import state
from celery.worker.consumer import Consumer as CelerysConsumer

from cagematch.workers.queues.names import TASK

LARGEST_ID = 2**63 - 1  # of a row, in the databases
ID = re.compile(r"[\w-]{1,64}", re.ASCII)
LOOKS = 5  # of its worker's supervisor, in which a message waits, a slot is free and nothing is heard
UNSENT = ("eta", "expires", "timelimit")  # headers that we send without a value
log = get_logger(__name__)
short = Repr().repr  # the long are cut


class Consumer(CelerysConsumer):
    """Celery's consumer, which sees sound messages only, and does not stay deaf."""

    silent = 0  # looks since it last heard something, or had no reason to

    def create_task_handler(self, *arguments: Any, **named: Any) -> Callable[[Any], None]:
        """Celery's way to handle a message, behind a gate. Called with each connection."""
        handle = super().create_task_handler(*arguments, **named)
        queues = self.app.amqp.queues.consume_from
        self.app.consumer = self
        self.silent = 0

        def gate(message: Any) -> None:
            self.silent = 0
            if found := fault(message, queues):
                log.warning("message dropped: %s", found)
                message.reject_log_error(log, self.connection_errors)
            else:
                handle(message)

        return gate

    def connect_anew(self) -> None:
        """Have the consumer's own thread drop its connection, and make another."""

        def drop() -> None:
            raise ConnectionResetError("messages wait, and none is heard")

        self.hub.call_soon(drop)


def listen(app: Celery, client: Any) -> None:
    """Wake a consumer that hears nothing: after a connection was lost it may wait for ever on one that is dead."""
    consumer: Consumer | None = app.consumer
    if consumer is None:
        return
    waits = any(client.llen(name) for name in app.amqp.queues.consume_from)
    consumer.silent = consumer.silent + 1 if waits and len(state.reserved_requests) < app.slots.count else 0
    if consumer.silent > LOOKS:
        log.warning("messages wait and a slot is free, but nothing is heard: connecting anew")
        consumer.silent = 0
        consumer.connect_anew()


def fault(message: Any, queues: Collection[str]) -> str | None:
    """What is wrong with a message that a worker of these queues got; None when nothing is."""
    headers, info = message.headers, message.delivery_info
    if not isinstance(headers, dict) or headers.get("task") != TASK:
        return f"expected the task {TASK}, found the headers {short(headers)}"
    if not isinstance(number := headers.get("id"), str) or not ID.fullmatch(number):
        return f"expected the id of a message, found {short(number)}"
    if unasked := {name: headers[name] for name in UNSENT if headers.get(name) not in (None, [None, None])}:
        return f"expected no {', no '.join(unasked)}, found {short(unasked)}"
    queue = info.get("routing_key") if isinstance(info, dict) else None
    if not isinstance(queue, str) or queue not in queues:
        return f"expected one of this worker's queues, found {short(queue)}"
    try:
        body = message.payload
    except Exception as error:
        return f"expected JSON, found a body that cannot be read: {type(error).__name__}: {short(str(error))}"
    return None if _is_call(body) else f"expected the number of a shard, found {short(body)}"


def _is_call(body: Any) -> bool:
    """Whether a body is one number of a shard, and asks for nothing that comes after it."""
    match body:
        case [[int(number)], {**named}, {**after}] if not named and not any(after.values()):
            return 0 < number <= LARGEST_ID and not isinstance(number, bool)
    return False
