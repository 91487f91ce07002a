"""Choosing the media type of a response."""

from __future__ import annotations

import pytest
from starlette.requests import Request

from app.api.http.negotiation import prefers


@pytest.mark.parametrize(
    ("accept", "expected"),
    [
        (None, "a/x"),
        ("*/*", "a/x"),
        ("b/y", "b/y"),
        ("b/*", "b/y"),
        ("a/x;q=0.1, b/y;q=0.2", "b/y"),
        ("a/x;q=0, */*", "b/y"),
        ("nonsense", "a/x"),
        ("b/y;q=bad, a/x", "a/x"),
    ],
)
def test_preferred_type(accept: str | None, expected: str) -> None:
    """The preference of the client decides; without one the first offer is chosen."""
    headers = [(b"accept", accept.encode())] if accept is not None else []
    assert prefers(Request({"type": "http", "headers": headers}), ("a/x", "b/y")) == expected
