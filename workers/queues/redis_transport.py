"""Kombu's transport for Redis, which also skips entries that are not messages; kombu's own would end the worker."""

from __future__ import annotations

from typing import Any

from celery.utils.log import get_logger
from kombu.transport import redis

log = get_logger(__name__)


class Channel(redis.Channel):
    """A channel that drops entries it cannot parse."""

    def _brpop_read(self, **options: Any) -> Any:
        try:
            return super()._brpop_read(**options)  # type: ignore[no-untyped-call]
        except (ValueError, TypeError, AttributeError, LookupError, RecursionError) as error:
            # BRPOP has already removed the entry from its list, and nothing else holds it.
            log.warning("message dropped: found an entry that is not a Celery message (%s)", type(error).__name__)
            return False


class Transport(redis.Transport):
    """The transport with this channel."""

    Channel = Channel
