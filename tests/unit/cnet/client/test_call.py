"""What an answer means for the next attempt."""

from __future__ import annotations

from datetime import UTC, datetime, timedelta
from email.utils import format_datetime

import httpx2
import pytest

from cnet.client import (
    ApiError,
    AuthenticationError,
    ConflictError,
    InvalidRequestError,
    NotFoundError,
    RateLimitError,
    ServerError,
)
from cnet.client.http.call import LONGEST_PAUSE, may_succeed_later, pause_after, refusal


@pytest.mark.parametrize(
    ("status", "kind", "again"),
    [
        (400, InvalidRequestError, False),
        (401, AuthenticationError, False),
        (403, AuthenticationError, False),
        (404, NotFoundError, False),
        (409, ConflictError, False),
        (410, NotFoundError, False),
        (418, ApiError, False),
        (422, InvalidRequestError, False),
        (429, RateLimitError, True),
        (500, ServerError, True),
        (507, ServerError, False),
    ],
)
def test_a_status_has_a_class_and_may_pass(status: int, kind: type[ApiError], again: bool) -> None:
    """Also where the answer is no problem document; it then says so."""
    error = refusal(httpx2.Response(status, text="<html>"))

    assert type(error) is kind
    assert (error.code, may_succeed_later(error)) == (f"http_{status}", again)
    assert "Try again later." in error.detail


def test_a_request_that_is_in_flight_is_repeated() -> None:
    """A conflict with ``Retry-After`` ends by itself."""
    assert may_succeed_later(refusal(httpx2.Response(409, headers={"Retry-After": "1"}, json={})))


@pytest.mark.parametrize(
    ("header", "seconds"),
    [
        ("7", 7.0),
        ("100000", LONGEST_PAUSE),
        (format_datetime(datetime.now(UTC) - timedelta(hours=1), usegmt=True), 0.0),
        (format_datetime(datetime.now(UTC) + timedelta(hours=1), usegmt=True), LONGEST_PAUSE),
        ("soon", 1.0),
        ("", 1.0),
    ],
    ids=["seconds", "many seconds", "a time gone by", "a time to come", "no number", "nothing"],
)
def test_the_pause_is_what_the_server_asks_for(header: str, seconds: float) -> None:
    """As seconds or as a date; without either it doubles, and it has a limit."""
    assert pause_after(2, refusal(httpx2.Response(503, headers={"Retry-After": header}))) == seconds
