"""How many requests this process has answered, and how long they took."""

from __future__ import annotations

import time
from collections import defaultdict

from starlette.types import ASGIApp, Message, Receive, Scope, Send

from app.api.metrics.exposition import Family, Sample

_OTHER = "other"  # paths without a route: one label for all, so that clients cannot make new ones


class RequestCounts:
    """Requests by method, route and status. It is used by one thread, that of the event loop."""

    def __init__(self) -> None:
        self._answered: dict[tuple[str, str, str], int] = defaultdict(int)
        self._taken: dict[str, tuple[int, float]] = {}

    def add(self, method: str, route: str, status: int, seconds: float) -> None:
        """Count one answer.

        Args:
            method: of the request.
            route: path of the route, with the names of its parameters.
            status: of the answer.
            seconds: until its last byte was sent.
        """
        self._answered[method, route, str(status)] += 1
        count, total = self._taken.get(route, (0, 0.0))
        self._taken[route] = (count + 1, total + seconds)

    def families(self) -> list[Family]:
        """What Prometheus reads of them."""
        names = ("method", "route", "status")
        counts = [Sample(n, dict(zip(names, key, strict=True))) for key, n in sorted(self._answered.items())]
        times = [
            sample
            for route, (count, total) in sorted(self._taken.items())
            for sample in (Sample(count, {"route": route}, "_count"), Sample(total, {"route": route}, "_sum"))
        ]
        return [
            Family("cnet_requests_total", "counter", "Requests that this process has answered.", counts),
            Family("cnet_request_seconds", "summary", "Time until an answer of this process was sent.", times),
        ]


class CountRequests:
    """ASGI middleware that counts answers."""

    def __init__(self, app: ASGIApp, counts: RequestCounts) -> None:
        self._app = app
        self._counts = counts

    async def __call__(self, scope: Scope, receive: Receive, send: Send) -> None:
        """Handle one ASGI connection."""
        if scope["type"] != "http":
            await self._app(scope, receive, send)
            return
        began, status = time.monotonic(), 499  # the client has gone before the answer began

        async def send_and_note(message: Message) -> None:
            nonlocal status
            if message["type"] == "http.response.start":
                status = message["status"]
            await send(message)

        try:
            await self._app(scope, receive, send_and_note)
        finally:
            self._counts.add(_method(scope), _route(scope), status, time.monotonic() - began)


def _route(scope: Scope) -> str:
    return getattr(scope.get("route"), "path", None) or _OTHER


def _method(scope: Scope) -> str:
    known = {"GET", "HEAD", "POST", "PUT", "PATCH", "DELETE", "OPTIONS"}
    return scope["method"] if scope["method"] in known else _OTHER
