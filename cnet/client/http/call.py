"""A request to a server, and what its answer means: an error, and whether to send the request again."""

from __future__ import annotations

import ipaddress
import uuid
from collections.abc import Callable, Iterator, Mapping, Sequence
from dataclasses import dataclass, field
from datetime import UTC, datetime
from email.utils import parsedate_to_datetime
from typing import Any

import httpx2

from cnet.client.errors import ApiError, ClientError, UnreachableError, api_error

LONGEST_PAUSE = 60.0
"""Most seconds between two attempts, whatever the server asks for."""

_RETRIED = frozenset({429, 500, 502, 503, 504})
_FIRST_PAUSE = 0.25

Body = Callable[[], Iterator[bytes]]


@dataclass(frozen=True)
class Call:
    """A request that may be sent several times.

    Attributes:
        method, path: of the request.
        params: query parameters; one with several values is sent several times.
        headers: besides those of the connection.
        json: document to send; None for a request without one.
        body: makes the stream of bytes to send again for each attempt; None for a request without one.
        timeout: seconds without a byte after which the connection counts as lost.
    """

    method: str
    path: str
    params: Mapping[str, str | Sequence[str]] = field(default_factory=dict)
    headers: Mapping[str, str] = field(default_factory=dict)
    json: Any = None
    body: Body | None = None
    timeout: float = 60.0

    def arguments(self) -> dict[str, Any]:
        """What ``stream`` of httpx2 takes, but for the body."""
        return {
            "method": self.method,
            "url": self.path,
            "params": dict(self.params),
            "headers": dict(self.headers),
            "json": self.json,
            "timeout": httpx2.Timeout(self.timeout, connect=10.0),
            "follow_redirects": self.method == "GET",  # a file may lie in another server, which does not get the key
        }


def idempotency() -> dict[str, str]:
    """The header by which the server knows a request that it gets again."""
    return {"Idempotency-Key": str(uuid.uuid4())}


def refusal(response: httpx2.Response) -> ApiError:
    """The error for an answer of status 400 or more, whose content was read."""
    try:
        document = response.json()
    except ValueError:
        document = None
    pause = _seconds(response.headers.get("Retry-After", ""))
    return api_error(response.status_code, document if isinstance(document, dict) else {}, pause)


def unreachable(server: str, error: Exception) -> UnreachableError:
    """The error for a fault of the network, or for an answer that is no HTTP answer."""
    if isinstance(error, httpx2.DecodingError):
        said = f"server {server}: the answer cannot be decoded, so this is not a cnet server. Check the address."
    else:
        said = f"server {server}: it does not answer. Check that it is running, and its address."
    return UnreachableError(said)


def may_succeed_later(error: ClientError) -> bool:
    """Whether the same call may succeed when it is sent again."""
    if isinstance(error, ApiError):
        in_flight = error.status == 409 and error.retry_after is not None
        return error.status in _RETRIED or in_flight
    return isinstance(error.__cause__, httpx2.TransportError | httpx2.StreamError)


def pause_after(attempt: int, error: ClientError | None = None) -> float:
    """Seconds to wait after attempt number ``attempt``, from 0: what the server asked for, or a time that doubles."""
    told = error.retry_after if isinstance(error, ApiError) else None
    return min(_FIRST_PAUSE * 2**attempt if told is None else told, LONGEST_PAUSE)


def server_url(server: str) -> httpx2.URL:
    """The address of a server. Raises UnreachableError where it is not a URL."""
    try:
        url = httpx2.URL(server)
    except (httpx2.InvalidURL, ValueError) as error:
        raise _no_url(server) from error
    if url.scheme not in ("http", "https") or not url.host:
        raise _no_url(server)
    return url


def is_loopback(url: httpx2.URL) -> bool:
    """Whether the address is one of this machine's own."""
    if url.host == "localhost":
        return True
    try:
        return ipaddress.ip_address(url.host).is_loopback
    except ValueError:
        return False


def _no_url(server: str) -> UnreachableError:
    return UnreachableError(
        f"server {server!r}: it is not a URL that begins with http:// or https://. Write it as http://HOST:PORT."
    )


def _seconds(retry_after: str) -> float | None:
    """The value of a ``Retry-After`` header, seconds or a date (RFC 9110), as seconds from now."""
    if retry_after.isascii() and retry_after.isdigit():
        return float(retry_after)
    try:
        date = parsedate_to_datetime(retry_after)
    except ValueError:
        return None
    return max((date.replace(tzinfo=date.tzinfo or UTC) - datetime.now(UTC)).total_seconds(), 0.0)
