"""The current time. Services take a clock as an argument, so that tests can decide what time it is."""

from __future__ import annotations

from collections.abc import Callable
from datetime import UTC, datetime

Clock = Callable[[], datetime]


def utc_now() -> datetime:
    """The current time in UTC."""
    return datetime.now(UTC)


def rfc3339(time: datetime | None) -> str | None:
    """A time as RFC 3339 text in UTC with microseconds, such as ``2026-01-31T12:00:00.000000Z``; None for None."""
    if time is None:
        return None
    return time.astimezone(UTC).isoformat(timespec="microseconds").replace("+00:00", "Z")
