"""Kombu's transport for Redis, but that what is no message at all is dropped: kombu would end the worker."""

from __future__ import annotations

from typing import Any

from celery.utils.log import get_logger
from kombu.transport import redis

log = get_logger(__name__)


class Channel(redis.Channel):
    """A channel that passes over what it cannot read."""

    def _brpop_read(self, **options: Any) -> Any:
        try:
            return super()._brpop_read(**options)  # type: ignore[no-untyped-call]
        except (ValueError, TypeError, AttributeError, LookupError, RecursionError) as error:
            # Taken out of its list by now, and nowhere else: it is gone.
            log.warning("message dropped: expected one of Celery's, found what is none (%s)", type(error).__name__)
            return False


class Transport(redis.Transport):
    """The transport with that channel."""

    Channel = Channel
