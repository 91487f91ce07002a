"""What is recorded of each answer: it is counted for Prometheus, and it is a line of the log."""

from __future__ import annotations

import time
from dataclasses import dataclass

from opentelemetry.trace import SpanKind
from starlette.datastructures import Headers
from starlette.types import ASGIApp, Message, Receive, Scope, Send

from app.api.metrics.request_counts import RequestCounts
from app.core.telemetry.logs import get_logger
from app.core.telemetry.traces import TRACE_PARENT, remote_parent, span

log = get_logger(__name__)

_OTHER = "other"  # paths without a route: one label for all, so that clients cannot make new ones
_METHODS = {"GET", "HEAD", "POST", "PUT", "PATCH", "DELETE", "OPTIONS"}
_PROBES = {"/livez", "/readyz", "/metrics"}  # machines ask for them every few seconds


@dataclass
class _Answer:
    """What was sent: the HTTP status, and the bytes of the body."""

    status: int = 499  # the client has gone before the answer began
    sent_bytes: int = 0

    def note(self, message: Message) -> None:
        """Note a message of the application."""
        if message["type"] == "http.response.start":
            self.status = message["status"]
        elif message["type"] == "http.response.body":
            self.sent_bytes += len(message.get("body", b""))


class RecordAnswers:
    """ASGI middleware that counts the answers, writes a line of the log for each, and records its span.

    Args:
        app: the application.
        counts: of the answers.
        traced: whether spans are recorded.
    """

    def __init__(self, app: ASGIApp, counts: RequestCounts, *, traced: bool) -> None:
        self._app = app
        self._counts = counts
        self._traced = traced

    async def __call__(self, scope: Scope, receive: Receive, send: Send) -> None:
        """Handle one ASGI connection."""
        if scope["type"] != "http":
            await self._app(scope, receive, send)
            return
        began, answer = time.monotonic(), _Answer()

        async def send_and_note(message: Message) -> None:
            answer.note(message)
            await send(message)

        if not self._traced or scope["path"] in _PROBES:
            await self._answer(scope, receive, send_and_note, (began, answer))
            return
        carrier = {TRACE_PARENT: Headers(scope=scope).get(TRACE_PARENT, "")}
        with remote_parent(carrier), span("request", SpanKind.SERVER) as made:
            await self._answer(scope, receive, send_and_note, (began, answer))
            method, route = _method(scope), _route(scope)
            made.update_name(f"{method} {route}")
            named = {"http.request.method": method, "http.route": route}
            made.set_attributes({**named, "http.response.status_code": answer.status})

    async def _answer(self, scope: Scope, receive: Receive, send: Send, noted: tuple[float, _Answer]) -> None:
        began, answer = noted
        try:
            await self._app(scope, receive, send)
        finally:
            self._record(scope, answer, time.monotonic() - began)

    def _record(self, scope: Scope, answer: _Answer, seconds: float) -> None:
        method, route = _method(scope), _route(scope)
        self._counts.add(method, route, answer.status, seconds)
        write = log.debug if route in _PROBES else log.info
        write(
            "request",
            method=method,
            route=route,
            path=scope["path"],
            status=answer.status,
            seconds=round(seconds, 6),
            sent_bytes=answer.sent_bytes,
        )


def _method(scope: Scope) -> str:
    return scope["method"] if scope["method"] in _METHODS else _OTHER


def _route(scope: Scope) -> str:
    return getattr(scope.get("route"), "path", None) or _OTHER
