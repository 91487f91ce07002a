"""The client for an event loop.

    async with AsyncClient("http://127.0.0.1:8000") as client:
        checkpoint = await client.upload_checkpoint("model.pth")
        job = await client.submit({"checkpoint": checkpoint.id, "target": {"min_ratio": 10}})
        await job.wait()
        await job.download("model.cnet.npz")

It is the same client as ``cnet.Client``, whose calls block: that one runs these coroutines.
"""

from __future__ import annotations

from collections.abc import Awaitable, Callable
from typing import Self

import anyio
import httpx2

from cnet.client.calls.modules import ModuleCalls
from cnet.client.calls.service import ServiceCalls
from cnet.client.calls.studies import StudyCalls
from cnet.client.http.connection import Address, AsyncConnection, Connection
from cnet.client.http.transport import Transport

DEFAULT_SERVER = "http://127.0.0.1:8000"
DEFAULT_RETRIES = 5


class AllCalls(ModuleCalls, StudyCalls, ServiceCalls):
    """All calls of the API, over either kind of connection."""

    def __init__(self, server: str, connection: Connection, retries: int) -> None:
        super().__init__(Transport(server.rstrip("/"), connection, retries))

    async def close(self) -> None:
        """Close all connections."""
        await self._transport.connection.close()


class AsyncClient(AllCalls):
    """A client of one server with one API key, for an event loop; a context manager that closes its connections.

    Args:
        server: the server's address.
        api_key: None for a server on this machine that asks for no key.
        retries: how often a request that got no answer, 429 or 5xx is sent again.
        transport: replaces the network in tests.
        sleep: waits between attempts; replaced in tests.

    All methods raise ApiError (the server refused) and UnreachableError (it did not answer, after several attempts).
    """

    def __init__(
        self,
        server: str = DEFAULT_SERVER,
        api_key: str | None = None,
        *,
        retries: int = DEFAULT_RETRIES,
        transport: httpx2.AsyncBaseTransport | None = None,
        sleep: Callable[[float], Awaitable[None]] = anyio.sleep,
    ) -> None:
        super().__init__(server, AsyncConnection(Address(server, api_key), transport, sleep), retries)

    async def __aenter__(self) -> Self:
        return self

    async def __aexit__(self, *_: object) -> None:
        await self.close()
