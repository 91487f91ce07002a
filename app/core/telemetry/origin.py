"""The origin of a job: what links the lines of its log to the request that submitted it.

It is stored with the job, because the message that wakes a worker belongs to no job, and an attempt may begin hours
after the request.
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from contextlib import contextmanager
from typing import Any

from structlog import contextvars

from app.core.telemetry.traces import current_trace

REQUEST_ID = "request_id"

Origin = Mapping[str, str]
"""``request_id``: the id of the request. ``traceparent``: its span, where traces are recorded."""


def current_origin() -> dict[str, str]:
    """The origin of what is stored now: that of the request at hand; empty outside of one."""
    return log_values(contextvars.get_contextvars()) | current_trace()


def log_values(origin: Mapping[str, Any] | None) -> dict[str, str]:
    """What the lines of the log show of an origin; None: that of a job of an earlier release."""
    return {REQUEST_ID: origin[REQUEST_ID]} if origin and REQUEST_ID in origin else {}


@contextmanager
def replaced_context(values: Mapping[str, Any]) -> Iterator[None]:
    """Give the lines of the log these values in place of all that they had, while the context lasts."""
    before = contextvars.get_contextvars()
    contextvars.clear_contextvars()
    contextvars.bind_contextvars(**values)
    try:
        yield
    finally:
        contextvars.clear_contextvars()
        contextvars.bind_contextvars(**before)
