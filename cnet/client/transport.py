"""Requests that are sent again after network faults and while the server is busy."""

from __future__ import annotations

import ipaddress
import time
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from dataclasses import dataclass, field
from typing import Any

import httpx2

from cnet.client.errors import ApiError, UnreachableError

_RETRIED = frozenset({429, 500, 502, 503, 504})
_LONGEST_PAUSE = 60.0

Body = Callable[[], Iterator[bytes]]


@dataclass(frozen=True)
class Call:
    """A request that may be sent several times; ``body`` makes its stream of bytes again for each attempt."""

    method: str
    path: str
    params: dict[str, str] = field(default_factory=dict)
    headers: dict[str, str] = field(default_factory=dict)
    json: Any = None
    body: Body | None = None
    timeout: float = 60.0


class Transport:
    """Sends calls to one server.

    A call that reached no server, lost its connection, or got the answer 429 or 5xx is sent again, after the time in
    ``Retry-After`` or after a pause that doubles. That is safe: GET changes nothing, and each POST has an
    ``Idempotency-Key``.

    Args:
        server: the server's address, such as ``http://127.0.0.1:8000``.
        api_key: sent as bearer token; None for a server on this machine that asks for no key.
        retries: how often a call is sent again.
        transport: replaces the network in tests.
        sleep: waits between attempts; replaced in tests.

    Raises:
        UnreachableError: ``server`` is not a URL.
    """

    def __init__(
        self,
        server: str,
        api_key: str | None,
        *,
        retries: int = 5,
        transport: httpx2.BaseTransport | None = None,
        sleep: Callable[[float], None] = time.sleep,
    ) -> None:
        self.server = server.rstrip("/")
        self._retries = retries
        self.sleep = sleep
        headers = {"Authorization": f"Bearer {api_key}"} if api_key else {}
        # a proxy that the environment names cannot reach this machine's own addresses
        loopback = _is_loopback(_checked(self.server).host)
        self._http = httpx2.Client(base_url=self.server, headers=headers, transport=transport, trust_env=not loopback)

    def close(self) -> None:
        """Close all connections."""
        self._http.close()

    def json(self, call: Call) -> Any:
        """The JSON of the answer. Raises ApiError, UnreachableError."""
        response = self.send(call)
        try:
            return response.json()
        except ValueError as error:
            raise UnreachableError(
                f"server {self.server}: the answer is not JSON, so this is not a cnet server. Check the address."
            ) from error

    def send(self, call: Call) -> httpx2.Response:
        """The complete answer, with status 2xx or 3xx. Raises ApiError, UnreachableError."""
        for attempt in range(self._retries + 1):
            try:
                with self.stream(call) as response:
                    response.read()
                    return response
            except (ApiError, UnreachableError) as error:
                if attempt == self._retries or not retryable(error):
                    raise
                self.sleep(_pause(error, attempt))
        raise AssertionError("unreachable")  # pragma: no cover

    @contextmanager
    def stream(self, call: Call) -> Iterator[httpx2.Response]:
        """The answer while it arrives; the call is sent once. Raises ApiError, UnreachableError, in the block too."""
        try:
            with self._http.stream(
                call.method,
                call.path,
                params=call.params,
                headers=call.headers,
                json=call.json,
                content=call.body() if call.body else None,
                timeout=httpx2.Timeout(call.timeout, connect=10.0),
            ) as response:
                if response.status_code >= 400:
                    response.read()
                    raise _problem(response)
                yield response
        except (httpx2.TransportError, httpx2.StreamError) as error:
            raise UnreachableError(
                f"server {self.server}: it does not answer. Check that it is running, and its address."
            ) from error
        except httpx2.DecodingError as error:
            raise UnreachableError(
                f"server {self.server}: the answer cannot be decoded, so this is not a cnet server. Check the address."
            ) from error


def retryable(error: ApiError | UnreachableError) -> bool:
    """Whether the same call may succeed later."""
    if isinstance(error, ApiError):
        busy = error.status == 409 and "retry_after" in error.document
        return error.status in _RETRIED or busy
    return isinstance(error.__cause__, httpx2.TransportError | httpx2.StreamError)


def _pause(error: ApiError | UnreachableError, attempt: int) -> float:
    told = error.document.get("retry_after") if isinstance(error, ApiError) else None
    return min(float(told) if told is not None else 0.25 * 2**attempt, _LONGEST_PAUSE)


def _problem(response: httpx2.Response) -> ApiError:
    try:
        document = response.json()
    except ValueError:
        document = {}
    document = dict(document) if isinstance(document, dict) else {}
    header = response.headers.get("Retry-After", "")
    if header.isdigit():
        document["retry_after"] = int(header)
    return ApiError(response.status_code, document)


def _checked(server: str) -> httpx2.URL:
    try:
        url = httpx2.URL(server)
    except (httpx2.InvalidURL, ValueError) as error:
        raise UnreachableError(_NO_ADDRESS.format(server)) from error
    if url.scheme not in ("http", "https") or not url.host:
        raise UnreachableError(_NO_ADDRESS.format(server))
    return url


_NO_ADDRESS = "server {!r}: this is not a URL. Write it like http://HOST:PORT."


def _is_loopback(host: str) -> bool:
    if host == "localhost":
        return True
    try:
        return ipaddress.ip_address(host).is_loopback
    except ValueError:
        return False
