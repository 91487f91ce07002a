"""One request to the receiver of a webhook, by a connection to an address that was checked.

The name of the receiver is resolved once. The connection goes to an address that this has found and that is allowed, so
a name that changes its address between check and connection leads nowhere. ``Host`` and the name in TLS stay those of
the URL. Redirects are not followed, proxies of the environment are not used, and the body of the answer is not read.
"""

from __future__ import annotations

import socket
import ssl
import threading
import time
from collections.abc import Callable, Iterable, Mapping
from contextlib import suppress
from dataclasses import dataclass
from typing import Any

import httpcore2
import httpx2

from app.core.webhooks.addresses import is_public

Resolve = Callable[[str, int], list[str]]
"""The IP addresses of a host by its name and a port. Raises OSError or UnicodeError where there is none."""

_MOST_ADDRESSES = 3


@dataclass(frozen=True)
class Answer:
    """What came of a request: the HTTP status, or where none came the reason."""

    status: int | None
    error: str | None = None


class _NotAllowedError(Exception):
    """The host has no address that webhooks may go to."""


class _UnknownHostError(Exception):
    """The name of the host has no address."""


def addresses_of(host: str, port: int) -> list[str]:
    """The IP addresses of a host, as the system resolves its name."""
    return [str(row[4][0]) for row in socket.getaddrinfo(host, port, type=socket.SOCK_STREAM)]


class WebhookPoster:
    """Sends requests to receivers.

    Args:
        allow_private: whether they may have addresses that are not public.
        timeout_seconds: for a whole request.
        resolve: finds the addresses of a host.
        tls: for ``https``; by default certificates are checked against the authorities that the system trusts.
    """

    def __init__(
        self,
        *,
        allow_private: bool,
        timeout_seconds: float,
        resolve: Resolve = addresses_of,
        tls: ssl.SSLContext | None = None,
    ) -> None:
        self._allow_private = allow_private
        self._seconds = timeout_seconds
        self._resolve = resolve
        self._tls = tls

    def post(self, url: str, headers: Mapping[str, str], body: bytes) -> Answer:
        """Send a request and return what came of it. It raises nothing."""
        backend = _CheckedBackend(self._allow_private, self._resolve, time.monotonic() + self._seconds)
        timeout = dict.fromkeys(("connect", "read", "write", "pool"), self._seconds)
        tls = self._tls or httpx2.create_ssl_context()
        try:
            with (
                httpcore2.ConnectionPool(ssl_context=tls, max_connections=1, network_backend=backend) as pool,
                pool.stream(
                    "POST", url, headers=list(headers.items()), content=body, extensions={"timeout": timeout}
                ) as answer,
            ):
                return Answer(answer.status)
        except _NotAllowedError:
            return Answer(None, "it has no address on the public internet, and webhooks are sent only there")
        except _UnknownHostError:
            return Answer(None, "its name cannot be resolved to an address")
        except httpcore2.TimeoutException:
            return Answer(None, f"it did not answer within {self._seconds:g} s")
        except (httpcore2.NetworkError, OSError):
            return Answer(None, "no connection to it could be made, or its certificate is not valid")
        except httpcore2.ProtocolError:
            return Answer(None, "it did not answer with HTTP")


class _CheckedBackend(httpcore2.SyncBackend):
    """Connections to allowed addresses alone, all of them closed at a deadline."""

    def __init__(self, allow_private: bool, resolve: Resolve, deadline: float) -> None:
        self._allow_private = allow_private
        self._resolve = resolve
        self._deadline = deadline

    def connect_tcp(
        self,
        host: str,
        port: int,
        timeout: float | None = None,  # noqa: ARG002 - the deadline is earlier
        local_address: str | None = None,
        socket_options: Iterable[Any] | None = None,
    ) -> httpcore2.NetworkStream:
        """A connection to the first allowed address of the host that accepts one."""
        found = self._found(host, port)
        allowed = [each for each in dict.fromkeys(found) if self._allow_private or is_public(each)][:_MOST_ADDRESSES]
        if not allowed:
            raise _NotAllowedError
        for number, address in enumerate(allowed, 1):
            seconds = _left(self._deadline, httpcore2.ConnectTimeout)
            try:
                stream = super().connect_tcp(address, port, seconds, local_address, socket_options)
            except httpcore2.ConnectError:
                if number == len(allowed):
                    raise
            else:
                return _DeadlineStream(stream, self._deadline)
        raise _UnknownHostError

    def _found(self, host: str, port: int) -> list[str]:
        """The addresses of a host, as long as the deadline lets it take.

        The system's resolver takes no time limit, so it is asked by a thread, which is left alone where it is late.
        """
        found: list[list[str]] = []

        def ask() -> None:
            with suppress(OSError, UnicodeError):
                found.append(self._resolve(host, port))

        thread = threading.Thread(target=ask, name="resolver", daemon=True)
        thread.start()
        thread.join(_left(self._deadline, httpcore2.ConnectTimeout))
        if thread.is_alive():
            raise httpcore2.ConnectTimeout
        if not found:
            raise _UnknownHostError
        return found[0]


class _DeadlineStream(httpcore2.NetworkStream):
    """A connection whose operations end at a deadline, however slowly bytes come."""

    def __init__(self, stream: httpcore2.NetworkStream, deadline: float) -> None:
        self._stream = stream
        self._deadline = deadline

    def read(self, max_bytes: int, timeout: float | None = None) -> bytes:  # noqa: ARG002 - the deadline is earlier
        """Read up to ``max_bytes``."""
        return self._stream.read(max_bytes, _left(self._deadline, httpcore2.ReadTimeout))

    def write(self, buffer: bytes, timeout: float | None = None) -> None:  # noqa: ARG002 - the deadline is earlier
        """Write all bytes."""
        self._stream.write(buffer, _left(self._deadline, httpcore2.WriteTimeout))

    def close(self) -> None:
        """Close the connection."""
        self._stream.close()

    def start_tls(
        self,
        ssl_context: ssl.SSLContext,
        server_hostname: str | None = None,
        timeout: float | None = None,  # noqa: ARG002 - the deadline is earlier
    ) -> httpcore2.NetworkStream:
        """The connection within TLS, for the name of the host in the URL."""
        seconds = _left(self._deadline, httpcore2.ConnectTimeout)
        return _DeadlineStream(self._stream.start_tls(ssl_context, server_hostname, seconds), self._deadline)

    def get_extra_info(self, info: str) -> Any:
        """A fact of the connection."""
        return self._stream.get_extra_info(info)


def _left(deadline: float, error: type[httpcore2.TimeoutException]) -> float:
    """Seconds until the deadline. Raises ``error`` where it has passed."""
    seconds = deadline - time.monotonic()
    if seconds <= 0:
        raise error
    return seconds
