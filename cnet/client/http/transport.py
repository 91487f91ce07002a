"""Requests that are sent again after network faults and while the server is busy."""

from __future__ import annotations

from collections.abc import AsyncIterator, Callable
from contextlib import asynccontextmanager
from typing import Any, TypeVar

import httpx2

from cnet.client.errors import ClientError, UnreachableError
from cnet.client.http.call import Call, may_succeed_later, pause_after, refusal, unreachable
from cnet.client.http.connection import Connection

T = TypeVar("T")


class Transport:
    """Sends calls to one server.

    A call that reached no server, lost its connection, or got the answer 429 or 5xx is sent again, after the time in
    ``Retry-After`` or after a pause that doubles. That is safe: GET changes nothing, and each POST has an
    ``Idempotency-Key``.

    Args:
        server: the server's address, for messages.
        connection: to the server.
        retries: how often a call is sent again.
    """

    def __init__(self, server: str, connection: Connection, retries: int) -> None:
        self.server = server
        self.connection = connection
        self._retries = retries

    async def document(self, call: Call) -> dict[str, Any]:
        """The JSON object of the answer. Raises ApiError, UnreachableError."""
        response = await self.send(call)
        try:
            document = response.json()
        except ValueError as error:
            raise UnreachableError(
                f"server {self.server}: the answer is not JSON, so this is not a cnet server. Check the address."
            ) from error
        if not isinstance(document, dict):
            raise UnreachableError(f"server {self.server}: its answer is not that of a cnet server. Check the address.")
        return document

    async def send(self, call: Call) -> httpx2.Response:
        """The complete answer, with status 2xx or 3xx. Raises ApiError, UnreachableError."""
        for attempt in range(self._retries):
            try:
                return await self._send_once(call)
            except ClientError as error:
                if not may_succeed_later(error):
                    raise
                await self.connection.sleep(pause_after(attempt, error))
        return await self._send_once(call)

    @asynccontextmanager
    async def stream(self, call: Call) -> AsyncIterator[httpx2.Response]:
        """The answer while it arrives; the call is sent once. Raises ApiError, UnreachableError, in the block too."""
        try:
            async with self.connection.stream(call) as response:
                if response.status_code >= 400:
                    await self.connection.read(response)
                    raise refusal(response)
                yield response
        except (httpx2.TransportError, httpx2.StreamError, httpx2.DecodingError) as error:
            raise unreachable(self.server, error) from error

    async def work(self, function: Callable[[], T]) -> T:
        """The result of a function that computes or reads files for a while; an event loop goes on meanwhile."""
        return await self.connection.work(function)

    async def _send_once(self, call: Call) -> httpx2.Response:
        async with self.stream(call) as response:
            await self.connection.read(response)
            return response
