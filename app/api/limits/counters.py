"""Counters of requests in Redis or Valkey, so that all API processes count together."""

from __future__ import annotations

import math
import time
from collections.abc import Callable
from typing import TYPE_CHECKING

from app.core.telemetry.logs import get_logger

if TYPE_CHECKING:  # slow to import, and needed only where a limit is set
    from limits.aio.strategies import SlidingWindowCounterRateLimiter
    from redis.asyncio import ConnectionPool

log = get_logger(__name__)

_ANSWER_SECONDS = 0.25
_SILENT_SECONDS = 5.0
"""After a failure the counters are left alone for so long, so that an outage does not slow down every request."""

_SOCKET = "redis+socket://"  # Celery's scheme of a Unix socket


class RequestCounters:
    """Requests of the last minute, by who sends them. It connects when it is first used.

    Where the broker does not answer, every request is allowed: an outage of it stops no reading.

    Args:
        broker: URL of the broker, as Celery takes it.
        monotonic: clock in seconds.
    """

    def __init__(self, broker: str, monotonic: Callable[[], float] = time.monotonic) -> None:
        self._url = broker.replace(_SOCKET, "unix://", 1)
        self._monotonic = monotonic
        self._silent_until = -math.inf
        self._pool: ConnectionPool | None = None
        self._limiter: SlidingWindowCounterRateLimiter | None = None

    async def seconds_to_wait(self, sender: str, per_minute: int) -> int | None:
        """Count a request. None where it is allowed, or else the seconds after which the sender may try again.

        Args:
            sender: who sends it.
            per_minute: how many requests of the sender are allowed in a minute; 0: any number.
        """
        if not per_minute or self._monotonic() < self._silent_until:
            return None
        from limits import RateLimitItemPerMinute
        from redis.exceptions import RedisError

        try:
            limiter, limit = self._open(), RateLimitItemPerMinute(per_minute)
            if await limiter.hit(limit, sender):
                return None
            until = (await limiter.get_window_stats(limit, sender)).reset_time
        except (RedisError, OSError) as error:
            self._silent_until = self._monotonic() + _SILENT_SECONDS
            log.warning("no limit of requests is applied, since the broker does not answer", error=type(error).__name__)
            return None
        return max(math.ceil(until - time.time()), 1)

    async def close(self) -> None:
        """Close the connections."""
        pool, self._pool, self._limiter = self._pool, None, None
        if pool is not None:
            await pool.disconnect()

    def _open(self) -> SlidingWindowCounterRateLimiter:
        from limits.aio.storage import RedisStorage
        from limits.aio.strategies import SlidingWindowCounterRateLimiter
        from redis.asyncio import ConnectionPool
        from redis.asyncio.retry import Retry
        from redis.backoff import NoBackoff

        if self._limiter is None:
            self._pool = ConnectionPool.from_url(
                self._url,
                socket_timeout=_ANSWER_SECONDS,
                socket_connect_timeout=_ANSWER_SECONDS,
                retry=Retry(NoBackoff(), 0),
            )
            storage = RedisStorage(
                "async+redis://localhost:6379",  # not used, since the pool is given
                implementation="redispy",
                key_prefix="cnet-limits",
                connection_pool=self._pool,  # type: ignore[arg-type] # documented, and missing in the annotation
            )
            self._limiter = SlidingWindowCounterRateLimiter(storage)
        return self._limiter
