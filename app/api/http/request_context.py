"""The outermost middleware: gives each request an id, and answers uncaught exceptions with a problem."""

from __future__ import annotations

import re
import secrets

from starlette.datastructures import Headers, MutableHeaders
from starlette.requests import ClientDisconnect, Request
from starlette.types import ASGIApp, Message, Receive, Scope, Send
from structlog.contextvars import bind_contextvars

from app.api.http.problems import fault_response, known_problem
from app.core.telemetry.logs import get_logger
from app.core.telemetry.origin import REQUEST_ID

log = get_logger(__name__)

_API_POLICY = "default-src 'none'; frame-ancestors 'none'"  # what the API sends is no page
_REQUEST_ID = re.compile(r"[A-Za-z0-9._-]{1,64}")


class RequestContext:
    """ASGI middleware that sets ``X-Request-Id``; a client's own one is used where it is short and plain."""

    def __init__(self, app: ASGIApp) -> None:
        self._app = app

    async def __call__(self, scope: Scope, receive: Receive, send: Send) -> None:
        """Handle one ASGI connection."""
        if scope["type"] != "http":
            await self._app(scope, receive, send)
            return
        request_id = _request_id(scope)
        scope.setdefault("state", {})["request_id"] = request_id
        bind_contextvars(**{REQUEST_ID: request_id})
        started = False

        async def send_with_id(message: Message) -> None:
            nonlocal started
            if message["type"] == "http.response.start":
                started = True
                headers = MutableHeaders(scope=message)
                headers["X-Request-Id"] = request_id
                headers.setdefault("X-Content-Type-Options", "nosniff")
                if scope["path"].startswith("/v1"):
                    headers.setdefault("Content-Security-Policy", _API_POLICY)
            await send(message)

        try:
            await self._app(scope, receive, send_with_id)
        except ClientDisconnect:
            log.info("the client closed the connection")
        except Exception as error:
            if started:  # too late for a problem: the connection is closed, so the client sees that bytes are missing
                raise
            await _answer(Request(scope), error)(scope, receive, send_with_id)


def _answer(request: Request, error: Exception) -> ASGIApp:
    known = known_problem(request, error)
    if known is not None:
        return known
    log.error("an unexpected error", exc_info=error)
    return fault_response(request)


def _request_id(scope: Scope) -> str:
    given = Headers(scope=scope).get("x-request-id", "")
    return given if _REQUEST_ID.fullmatch(given) else secrets.token_hex(8)
