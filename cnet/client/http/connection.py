"""Connections to a server: one that blocks, and one for an event loop.

All other code of the client is written once, as coroutines over a connection. The coroutines of the blocking
connection never wait for an event loop, so that ``cnet.client.blocking`` runs them in a plain call.
"""

from __future__ import annotations

import time
from collections.abc import AsyncIterator, Awaitable, Callable, Iterator
from contextlib import AbstractAsyncContextManager, asynccontextmanager
from dataclasses import dataclass
from typing import Any, Protocol, TypeVar

import anyio
import httpx2
from anyio.to_thread import run_sync

from cnet.client.http.call import Call, is_loopback, server_url

T = TypeVar("T")


@dataclass(frozen=True)
class Address:
    """The address of a server, and the key of its user.

    Attributes:
        server: the server's address, such as ``http://127.0.0.1:8000``.
        api_key: sent as bearer token; None for a server on this machine that asks for no key.
    """

    server: str
    api_key: str | None = None

    def options(self) -> dict[str, Any]:
        """What the clients of httpx2 take. Raises UnreachableError where ``server`` is not a URL."""
        url = server_url(self.server)
        headers = {"Authorization": f"Bearer {self.api_key}"} if self.api_key else {}
        # a proxy that the environment names cannot reach this machine's own addresses
        return {"base_url": url, "headers": headers, "trust_env": not is_loopback(url)}


class Connection(Protocol):
    """What differs between a client that blocks and one for an event loop."""

    def stream(self, call: Call) -> AbstractAsyncContextManager[httpx2.Response]:
        """Send a call once; gives the answer before its content was read. Raises the errors of httpx2."""

    async def read(self, response: httpx2.Response) -> None:
        """Read all content of an answer."""

    def chunks(self, response: httpx2.Response) -> AsyncIterator[bytes]:
        """The content of an answer, piece by piece."""

    def events(self, response: httpx2.Response) -> AsyncIterator[httpx2.ServerSentEvent]:
        """The server-sent events of an answer."""

    async def sleep(self, seconds: float) -> None:
        """Wait."""

    async def work(self, function: Callable[[], T]) -> T:
        """The result of a function that computes or reads files for a while."""

    async def close(self) -> None:
        """Close all connections."""


class BlockingConnection:
    """A connection whose coroutines block, and end without waiting for an event loop.

    Args:
        address: the server.
        transport: replaces the network in tests.
        sleep: waits between attempts; replaced in tests.
    """

    def __init__(
        self,
        address: Address,
        transport: httpx2.BaseTransport | None = None,
        sleep: Callable[[float], None] = time.sleep,
    ) -> None:
        self._http = httpx2.Client(transport=transport, **address.options())
        self._sleep = sleep

    @asynccontextmanager
    async def stream(self, call: Call) -> AsyncIterator[httpx2.Response]:
        """As ``Connection``."""
        with self._http.stream(content=call.body() if call.body else None, **call.arguments()) as response:
            yield response

    async def read(self, response: httpx2.Response) -> None:
        """As ``Connection``."""
        response.read()

    async def chunks(self, response: httpx2.Response) -> AsyncIterator[bytes]:
        """As ``Connection``."""
        for chunk in response.iter_bytes():
            yield chunk

    async def events(self, response: httpx2.Response) -> AsyncIterator[httpx2.ServerSentEvent]:
        """As ``Connection``."""
        for event in httpx2.EventSource(response):
            yield event

    async def sleep(self, seconds: float) -> None:
        """As ``Connection``."""
        self._sleep(seconds)

    async def work(self, function: Callable[[], T]) -> T:
        """As ``Connection``."""
        return function()

    async def close(self) -> None:
        """As ``Connection``."""
        self._http.close()


class AsyncConnection:
    """A connection for an event loop. Files are read in threads.

    Args:
        address: the server.
        transport: replaces the network in tests.
        sleep: waits between attempts; replaced in tests.
    """

    def __init__(
        self,
        address: Address,
        transport: httpx2.AsyncBaseTransport | None = None,
        sleep: Callable[[float], Awaitable[None]] = anyio.sleep,
    ) -> None:
        self._http = httpx2.AsyncClient(transport=transport, **address.options())
        self._sleep = sleep

    @asynccontextmanager
    async def stream(self, call: Call) -> AsyncIterator[httpx2.Response]:
        """As ``Connection``."""
        content = _in_threads(call.body()) if call.body else None
        async with self._http.stream(content=content, **call.arguments()) as response:
            yield response

    async def read(self, response: httpx2.Response) -> None:
        """As ``Connection``."""
        await response.aread()

    async def chunks(self, response: httpx2.Response) -> AsyncIterator[bytes]:
        """As ``Connection``."""
        async for chunk in response.aiter_bytes():
            yield chunk

    async def events(self, response: httpx2.Response) -> AsyncIterator[httpx2.ServerSentEvent]:
        """As ``Connection``."""
        async for event in httpx2.EventSource(response):
            yield event

    async def sleep(self, seconds: float) -> None:
        """As ``Connection``."""
        await self._sleep(seconds)

    async def work(self, function: Callable[[], T]) -> T:
        """As ``Connection``."""
        return await run_sync(function)

    async def close(self) -> None:
        """As ``Connection``."""
        await self._http.aclose()


async def _in_threads(chunks: Iterator[bytes]) -> AsyncIterator[bytes]:
    """The chunks of an iterator, each of them fetched in a thread."""
    while chunk := await run_sync(next, chunks, b""):
        yield chunk
