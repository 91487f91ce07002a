"""The form for an API key, which starts the session of a browser, and the end of the session."""

from __future__ import annotations

from typing import Annotated

from fastapi import APIRouter, Form, Request
from starlette.datastructures import Headers
from starlette.responses import RedirectResponse, Response

from app.api.dependencies import BackendDep
from app.api.session import check_same_origin, end_session, start_session
from app.web.page_route import PageRoute
from app.web.rendering import render

router = APIRouter(route_class=PageRoute, include_in_schema=False)


@router.get("/login")
def form(request: Request, backend: BackendDep, next: str = "/") -> Response:  # noqa: A002 - the name in the address
    """The form."""
    return render(request, "login.html", next=_own_page(next), wrong=False, needed=backend.keys.exist())


@router.post("/login")
def login(
    request: Request,
    backend: BackendDep,
    key: Annotated[str, Form(max_length=1000)] = "",
    next: Annotated[str, Form(max_length=2000)] = "/",  # noqa: A002 - the name in the form
) -> Response:
    """Check the key, keep it in the browser's cookie, and go to the page that was asked for."""
    check_same_origin(Headers(scope=request.scope))
    if backend.keys.check(key.strip()) is None:
        return render(request, "login.html", 401, next=_own_page(next), wrong=True, needed=True)
    response = RedirectResponse(f"{request.scope.get('root_path', '')}{_own_page(next)}", 303)
    start_session(response, key.strip(), secure=request.url.scheme == "https")
    return response


@router.post("/logout")
def logout(request: Request) -> Response:
    """Forget the key."""
    check_same_origin(Headers(scope=request.scope))
    response = RedirectResponse(f"{request.scope.get('root_path', '')}/login", 303)
    end_session(response)
    return response


def _own_page(path: str) -> str:
    """The path where it is one of this server; ``/`` where a link would lead to another host."""
    plain = path.startswith("/") and not path.startswith(("//", "/\\")) and path.isprintable()
    return path if plain else "/"
