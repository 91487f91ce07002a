"""Servers that are functions, and clients of them."""

from __future__ import annotations

import json
from collections.abc import Callable
from typing import Any

import httpx2

from cnet.client import AsyncClient, Client

Handler = Callable[[httpx2.Request], httpx2.Response]


def client_of(handler: Handler, pauses: list[float] | None = None, **options: Any) -> Client:
    """A client of ``handler``; the pauses it makes are noted, not made."""
    sleep = (pauses if pauses is not None else []).append
    return Client("http://server", "cnet_secret", transport=httpx2.MockTransport(handler), sleep=sleep, **options)


def async_client_of(handler: Handler, pauses: list[float] | None = None, **options: Any) -> AsyncClient:
    """The same for an event loop."""

    async def sleep(seconds: float) -> None:
        if pauses is not None:
            pauses.append(seconds)

    transport = httpx2.MockTransport(handler)
    return AsyncClient("http://server", "cnet_secret", transport=transport, sleep=sleep, **options)


def answers(*responses: httpx2.Response | Exception) -> Handler:
    """One after the other, whatever is asked."""
    left = list(responses)

    def handler(request: httpx2.Request) -> httpx2.Response:
        del request
        response = left.pop(0)
        if isinstance(response, Exception):
            raise response
        return response

    return handler


def job(status: str = "queued", **more: Any) -> httpx2.Response:
    """A job's document."""
    return httpx2.Response(200, json={"id": "job_1", "status": status, "error": None, **more})


def stream(*events: dict[str, Any]) -> httpx2.Response:
    """An event stream that ends after ``events``."""
    text = "".join(f"id: {event['id']}\nevent: {event['type']}\ndata: {json.dumps(event)}\n\n" for event in events)
    return httpx2.Response(200, headers={"Content-Type": "text/event-stream"}, text=text)
