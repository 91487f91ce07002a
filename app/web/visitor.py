"""The visitor of a page: the owner of the key in the browser's session, or ``local`` on a server without keys."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Annotated
from urllib.parse import quote

from fastapi import Depends, Request
from starlette.datastructures import Headers
from starlette.responses import RedirectResponse, Response

from app.api.auth import Principal, authenticate
from app.api.dependencies import BackendDep
from app.api.session import check_same_origin
from app.core.ownership import OwnerFilter

_SAFE_METHODS = {"GET", "HEAD"}


@dataclass(frozen=True)
class Visitor:
    """The visitor of a page.

    Attributes:
        principal: on whose behalf the browser's requests are made.
        has_key: whether a session with a key exists, which can be ended.
        admin: whether the key has the scope admin.
    """

    principal: Principal
    has_key: bool
    admin: bool

    @property
    def owner_filter(self) -> OwnerFilter:
        """The owner whose objects the pages show; None, for administrators: those of all owners."""
        return self.principal.owner_filter


def get_visitor(request: Request, backend: BackendDep) -> Visitor:
    """Authenticate the browser.

    Raises:
        UnauthorizedError: the server has keys, and the session has none that is valid.
        ForbiddenError: a page of another site sent a request that changes something, or the key allows too little.
    """
    if request.method not in _SAFE_METHODS:
        check_same_origin(Headers(scope=request.scope))
    principal = authenticate(backend.keys, request.scope)
    visitor = Visitor(principal, principal.key_id is not None, principal.key_id is not None and principal.admin)
    request.state.visitor = visitor
    return visitor


VisitorDep = Annotated[Visitor, Depends(get_visitor)]


def to_login(request: Request) -> Response:
    """The way to the form for a key, and from there back to the page that was asked for."""
    page = request.url.path + (f"?{request.url.query}" if request.url.query else "")
    form = f"{request.scope.get('root_path', '')}/login"
    if request.headers.get("hx-request"):  # a part of a page cannot show the form: the whole page goes there
        return Response(status_code=204, headers={"HX-Redirect": form})
    return RedirectResponse(f"{form}?next={quote(page, safe='')}", 303)
