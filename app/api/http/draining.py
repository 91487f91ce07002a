"""Answers to requests whose body was not read: they arrive although the client is still sending.

Clients such as ``urllib`` read the answer only after they have sent the whole body. A server that answers and closes
the connection at once resets it, since bytes were not read, and the client sees a network error in place of the answer.
So the connection stays open until the rest of the body has arrived, and its bytes are dropped.
"""

from __future__ import annotations

import asyncio
import time

from starlette.datastructures import Headers, MutableHeaders
from starlette.types import ASGIApp, Message, Receive, Scope, Send

_PEEK_SECONDS = 0.02  # a small body is there by then, and the connection can be used again
_PEEK_BYTES = 2**16


class Draining:
    """ASGI middleware that receives and drops what the application left of a request's body, within limits.

    The answer is sent at once and only the end of the connection waits, so that a client that reads while it sends can
    stop sending.

    Args:
        app: the application.
        silence: seconds without a byte after which the connection is closed; 0: at once.
        seconds: seconds after which it is closed.
        most: number of bytes after which it is closed.
    """

    def __init__(self, app: ASGIApp, *, silence: float, seconds: float = 30.0, most: int = 2**30) -> None:
        self._app = app
        self._silence = silence
        self._seconds = seconds
        self._most = most

    async def __call__(self, scope: Scope, receive: Receive, send: Send) -> None:
        """Handle one ASGI connection."""
        if scope["type"] != "http" or not self._silence or not _has_body(scope):
            await self._app(scope, receive, send)
            return
        body = _Body(receive)

        async def send_and_drain(message: Message) -> None:
            if message["type"] == "http.response.start" and not body.ended:
                if body.begun or not _waits_for_100(scope):
                    await body.drop(_PEEK_SECONDS, _PEEK_SECONDS, _PEEK_BYTES)
                if not body.ended:
                    MutableHeaders(scope=message)["Connection"] = "close"
            last = message["type"] == "http.response.body" and not message.get("more_body", False)
            if not last or body.ended:
                await send(message)
                return
            await send({**message, "more_body": True})
            await body.drop(self._silence, self._seconds, self._most)
            await send({"type": "http.response.body", "body": b"", "more_body": False})

        await self._app(scope, body.receive, send_and_drain)


class _Body:
    """The body of a request: whether it was begun, and whether it has ended."""

    def __init__(self, receive: Receive) -> None:
        self._receive = receive
        self.begun = False
        self.ended = False

    async def receive(self) -> Message:
        """The next message from the client."""
        self.begun = True
        message = await self._receive()
        self.ended = message["type"] != "http.request" or not message.get("more_body", False)
        return message

    async def drop(self, silence: float, seconds: float, most: int) -> None:
        """Receive and drop bytes until the body ends or a limit is reached."""
        deadline, dropped = time.monotonic() + seconds, 0
        while not self.ended and dropped <= most:
            try:
                async with asyncio.timeout(min(silence, deadline - time.monotonic())):
                    message = await self.receive()
            except TimeoutError:
                return
            dropped += len(message.get("body", b""))


def _has_body(scope: Scope) -> bool:
    headers = Headers(scope=scope)
    return "transfer-encoding" in headers or headers.get("content-length", "0") != "0"


def _waits_for_100(scope: Scope) -> bool:
    """Whether the client waits with the body until it is asked for it (RFC 9110 §10.1.1)."""
    return Headers(scope=scope).get("expect", "").lower() == "100-continue"
