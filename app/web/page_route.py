"""The routes of pages: security headers, compression, and errors as pages for people."""

from __future__ import annotations

from collections.abc import Callable, Coroutine
from typing import Any

from fastapi import Request, Response
from fastapi.exceptions import RequestValidationError
from fastapi.routing import APIRoute
from starlette.exceptions import HTTPException
from starlette.middleware.gzip import GZipMiddleware
from starlette.types import Receive, Scope, Send

from app.api.http import problems
from app.api.http.problems import known_error, status_of
from app.core.errors import UnauthorizedError
from app.core.telemetry.logs import get_logger
from app.web.rendering import render
from app.web.visitor import to_login

log = get_logger(__name__)

SECURITY_HEADERS = {
    "Content-Security-Policy": "; ".join(
        (
            "default-src 'none'",
            *("script-src 'self'", "style-src 'self'", "img-src 'self' data:", "connect-src 'self'"),
            *("form-action 'self'", "base-uri 'none'", "frame-ancestors 'none'"),
        )
    ),
    "Cross-Origin-Opener-Policy": "same-origin",
    "Cross-Origin-Resource-Policy": "same-origin",
    "Permissions-Policy": "camera=(), geolocation=(), microphone=()",
    "Referrer-Policy": "same-origin",
    "X-Content-Type-Options": "nosniff",
    "X-Frame-Options": "DENY",
    "Cache-Control": "private, no-cache",
}
"""The headers of every page. Scripts and styles come from files of this server only, none stand in the page itself."""


class PageRoute(APIRoute):
    """A route that answers with a page, also where the request is refused."""

    def get_route_handler(self) -> Callable[[Request], Coroutine[Any, Any, Response]]:
        """The handler of the endpoint, whose errors become pages."""
        respond = super().get_route_handler()

        async def answer(request: Request) -> Response:
            try:
                response = await respond(request)
            except Exception as error:  # noqa: BLE001 - whatever it is, a person reads the answer
                response = error_page(request, error) or _fault_page(request, error)
            return secured(response)

        return answer

    async def handle(self, scope: Scope, receive: Receive, send: Send) -> None:
        """Answer a request, compressed where the browser accepts that."""
        await GZipMiddleware(super().handle, minimum_size=1000)(scope, receive, send)


def secured(response: Response) -> Response:
    """The response, with the security headers that it does not set itself."""
    for name, value in SECURITY_HEADERS.items():
        response.headers.setdefault(name, value)
    return response


def error_page(request: Request, error: Exception) -> Response | None:
    """The page for an exception, which leads to the form for a key where one is missing; None for a fault."""
    if isinstance(error, UnauthorizedError):
        return to_login(request)
    if isinstance(error, RequestValidationError):
        wrong = "; ".join(str(row["msg"]) for row in error.errors()[:5])
        return _error_page(request, 422, f"The address is not valid ({wrong}). Follow a link of the page instead.")
    if isinstance(error, HTTPException):
        return _error_page(request, error.status_code, _http_detail(request, error))
    known = known_error(error)
    status = status_of(known) if known is not None else None
    return None if known is None or status is None else _error_page(request, status, known.detail)


def _fault_page(request: Request, error: Exception) -> Response:
    """The page for a fault of the server, which shows nothing of the cause; the log does, under the request's id."""
    log.error("an unexpected error", exc_info=error)
    name = request.state.request_id
    detail = f"The server made a mistake. Try again, or give {name} to whoever runs the server."
    return _error_page(request, 500, detail)


async def handle_http(request: Request, error: Exception) -> Response:
    """Answer a request that Starlette refused: browsers get a page, programs and requests to the API a problem."""
    for_people = "text/html" in request.headers.get("accept", "") and not request.url.path.startswith("/v1")
    page = error_page(request, error) if for_people else None
    return await problems.handle_http(request, error) if page is None else secured(page)


def _http_detail(request: Request, error: HTTPException) -> str:
    if error.status_code == 404:
        return f"{request.url.path}: there is no such page. Choose one from the menu."
    return f"{error.detail}. Go back and try again."


def _error_page(request: Request, status: int, detail: str) -> Response:
    return render(request, "error.html", status, status_code=status, detail=detail)
