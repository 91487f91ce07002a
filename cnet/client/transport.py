"""Requests with retries: what a flaky network and a busy server ask of a client."""

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
    """One request that may be sent several times. ``body`` makes the stream of bytes anew for each try."""

    method: str
    path: str
    params: dict[str, str] = field(default_factory=dict)
    headers: dict[str, str] = field(default_factory=dict)
    json: Any = None
    body: Body | None = None
    timeout: float = 60.0


class Transport:
    """Sends calls to one server.

    A call that found no server, lost its connection, or was answered 429 or 5xx is sent again, after the time that
    ``Retry-After`` names or a doubling pause. That is safe: GET changes nothing, and each POST carries an
    ``Idempotency-Key``.

    Args:
        server: the server's address, such as ``http://127.0.0.1:8000``.
        api_key: sent as bearer token; None for a loopback server without keys.
        retries: so many times a call is sent again.
        transport: for tests; None: the network.
        sleep: how to wait; for tests.

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
        # a proxy from the environment cannot reach this machine's loopback
        loopback = _is_loopback(_checked(self.server).host)
        self._http = httpx2.Client(base_url=self.server, headers=headers, transport=transport, trust_env=not loopback)

    def close(self) -> None:
        """Close all connections."""
        self._http.close()

    def json(self, call: Call) -> Any:
        """The answer's JSON. Raises ApiError, UnreachableError."""
        response = self.send(call)
        try:
            return response.json()
        except ValueError as error:
            raise UnreachableError(f"what answers at {self.server} is no cnet server: it sent no JSON") from error

    def send(self, call: Call) -> httpx2.Response:
        """The whole answer, 2xx or 3xx. Raises ApiError, UnreachableError."""
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
        """The answer while it arrives, sent once. Raises ApiError, UnreachableError (also from within the block)."""
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
                f"the server at {self.server} does not answer: is it running, and is the address right?"
            ) from error
        except httpx2.DecodingError as error:
            raise UnreachableError(f"what answers at {self.server} is no cnet server") from error


def retryable(error: ApiError | UnreachableError) -> bool:
    """Whether the same call may go through later."""
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


_NO_ADDRESS = "{!r} is no address of a server; write it like http://HOST:PORT"


def _is_loopback(host: str) -> bool:
    if host == "localhost":
        return True
    try:
        return ipaddress.ip_address(host).is_loopback
    except ValueError:
        return False
