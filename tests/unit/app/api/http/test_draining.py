"""Refused requests whose body was not read: what is received and dropped, and when the connection is closed."""

from __future__ import annotations

import asyncio
from typing import Any

from starlette.responses import Response
from starlette.types import ASGIApp, Message, Receive, Scope, Send

from app.api.http.draining import Draining

CHUNK = b"x" * 2**16


async def refuse(scope: Scope, receive: Receive, send: Send) -> None:
    """Answer without reading the body."""
    await Response("no", 404)(scope, receive, send)


class Client:
    """A client that sends chunks and then falls silent, or disconnects."""

    def __init__(self, chunks: list[Message]) -> None:
        self.waiting = list(chunks)
        self.sent: list[Message] = []

    async def receive(self) -> Message:
        """The next message."""
        if not self.waiting:
            await asyncio.Event().wait()
        return self.waiting.pop(0)

    async def send(self, message: Message) -> None:
        """Note what was answered."""
        self.sent.append({**message, "waiting": len(self.waiting)})

    def request(self, app: ASGIApp, headers: dict[str, str], **limits: Any) -> dict[bytes, bytes]:
        """Send a request; returns the headers of the answer."""
        raw = [(name.lower().encode(), value.encode()) for name, value in headers.items()]
        scope = {"type": "http", "method": "POST", "path": "/", "headers": raw}
        draining = Draining(app, **{"silence": 0.05, **limits})
        asyncio.run(draining(scope, self.receive, self.send))
        return dict(self.sent[0]["headers"])


def chunks(count: int) -> list[Message]:
    """A body."""
    return [{"type": "http.request", "body": CHUNK, "more_body": index < count - 1} for index in range(count)]


def test_the_answer_is_sent_before_the_body_has_arrived() -> None:
    """Its end waits until the last byte was dropped."""
    client = Client(chunks(40))
    headers = client.request(refuse, {"Content-Length": str(40 * 2**16)})
    start, body, end = client.sent
    assert (start["status"], body["body"], body["more_body"], end["more_body"]) == (404, b"no", True, False)
    assert body["waiting"] > 30
    assert end["waiting"] == 0
    assert headers[b"connection"] == b"close"


def test_a_small_body_leaves_the_connection_open() -> None:
    """It has arrived with the headers."""
    client = Client(chunks(1))
    assert b"connection" not in client.request(refuse, {"Content-Length": str(2**16)})
    assert len(client.sent) == 2


def test_a_request_without_a_body_is_passed_on() -> None:
    """Nothing is received on its behalf."""
    client = Client(chunks(1))
    client.request(refuse, {})
    assert len(client.waiting) == 1


def test_a_client_that_waits_for_100_is_not_asked_for_its_body() -> None:
    """No byte of the body is received before the answer, since receiving asks for it."""
    client = Client([{"type": "http.disconnect"}])
    client.request(refuse, {"Content-Length": "100", "Expect": "100-continue"})
    assert client.sent[0]["waiting"] == 1


def test_limits() -> None:
    """The connection ends after the allowed bytes, and after silence."""
    client = Client(chunks(1000))
    client.request(refuse, {"Transfer-Encoding": "chunked"}, most=20 * 2**16)
    assert 950 < len(client.waiting) < 1000
    silent = Client(chunks(3)[:2])
    silent.request(refuse, {"Transfer-Encoding": "chunked"})
    assert silent.sent[-1]["more_body"] is False
