"""The time, as an argument: services take a clock, so that tests can hold it."""

from __future__ import annotations

from collections.abc import Callable
from datetime import UTC, datetime

Clock = Callable[[], datetime]


def utc_now() -> datetime:
    """Now, in UTC."""
    return datetime.now(UTC)


def rfc3339(moment: datetime | None) -> str | None:
    """A time as JSON carries it: RFC 3339, UTC, microseconds, ``Z``."""
    if moment is None:
        return None
    return moment.astimezone(UTC).isoformat(timespec="microseconds").replace("+00:00", "Z")
