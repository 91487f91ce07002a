"""The system: whether the server is well, its workers, and what waits for them."""

from __future__ import annotations

from fastapi import APIRouter, Request
from starlette.responses import Response

from app.api.dependencies import BackendDep
from app.api.health.service import check_health
from app.api.workers import service
from app.core.clock import utc_now
from app.web.page_route import PageRoute
from app.web.rendering import render
from app.web.visitor import VisitorDep

router = APIRouter(prefix="/system", route_class=PageRoute, include_in_schema=False)


@router.get("")
def show(request: Request, backend: BackendDep, visitor: VisitorDep) -> Response:
    """The whole page."""
    return _page(request, backend, visitor, "system.html")


@router.get("/state")
def state(request: Request, backend: BackendDep, visitor: VisitorDep) -> Response:
    """The changing part, which the page asks for again and again."""
    return _page(request, backend, visitor, "parts/system_state.html")


def _page(request: Request, backend: BackendDep, visitor: VisitorDep, template: str) -> Response:
    overview = service.overview(backend, visitor.principal)
    return render(request, template, overview=overview, checks=check_health(backend).checks, now=utc_now())
