"""API keys, for administrators."""

from __future__ import annotations

from typing import Annotated, Any

from fastapi import APIRouter, Form, Query, Request
from starlette.responses import RedirectResponse, Response

from app.api.backend import Backend
from app.api.dependencies import BackendDep, KeyId
from app.api.http.pagination import ID_PATTERN
from app.api.keys.schemas import KeyRequest, KeyView
from app.core.errors import ForbiddenError
from app.core.keys import SCOPES
from app.web.page_route import PageRoute
from app.web.rendering import render
from app.web.visitor import Visitor, VisitorDep
from cnet.errors import SpecError

router = APIRouter(prefix="/keys", route_class=PageRoute, include_in_schema=False)

_PAGE_KEYS = 100


@router.get("")
def show(
    request: Request,
    backend: BackendDep,
    visitor: VisitorDep,
    after: Annotated[str | None, Query(pattern=ID_PATTERN)] = None,
) -> Response:
    """The keys of all owners, newest first."""
    _check_admin(visitor)
    return _page(request, backend, after=after)


@router.post("")
def create(
    request: Request,
    backend: BackendDep,
    visitor: VisitorDep,
    owner: Annotated[str, Form(max_length=1000)] = "",
    scope: Annotated[str, Form(max_length=100)] = "write",
) -> Response:
    """Create a key, and show its secret this once."""
    _check_admin(visitor)
    try:
        wanted = KeyRequest.parse({"owner": owner, "scope": scope})
    except SpecError as error:
        return _page(request, backend, 422, problem=error.detail)
    key, secret = backend.keys.create(wanted.owner, wanted.scope)
    response = _page(request, backend, made=KeyView.of(key), secret=secret)
    response.headers["Cache-Control"] = "no-store"
    return response


@router.post("/{key_id}/revoke")
def revoke(request: Request, key_id: KeyId, backend: BackendDep, visitor: VisitorDep) -> Response:
    """Revoke a key, then show the list."""
    _check_admin(visitor)
    backend.keys.revoke(key_id)
    return RedirectResponse(f"{request.scope.get('root_path', '')}/keys", 303)


def _check_admin(visitor: Visitor) -> None:
    if not visitor.admin:
        raise ForbiddenError("keys: they are for administrators. Log in with a key that has the scope admin.")


def _page(
    request: Request,
    backend: Backend,
    status: int = 200,
    *,
    after: str | None = None,
    **shown: Any,
) -> Response:
    """The page, with a key that was just made and its ``secret``, or a ``problem``."""
    found = backend.keys.find_page(_PAGE_KEYS + 1, after)
    return render(
        request,
        "keys.html",
        status,
        keys=[KeyView.of(key) for key in found[:_PAGE_KEYS]],
        next_page=found[_PAGE_KEYS - 1].id if len(found) > _PAGE_KEYS else None,
        scopes=SCOPES,
        **{"made": None, "secret": None, "problem": None, **shown},
    )
