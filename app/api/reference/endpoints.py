"""The route of the reference page; open to all, it tells nothing about anybody."""

from __future__ import annotations

from fastapi import APIRouter, Request
from starlette.responses import HTMLResponse, Response

from app.api.reference.page import render

router = APIRouter()

_POLICY = "default-src 'none'; style-src 'unsafe-inline'; base-uri 'none'; form-action 'none'; frame-ancestors 'none'"


@router.get("/docs", include_in_schema=False)
@router.head("/docs", include_in_schema=False)
def docs(request: Request) -> Response:
    """Whole in itself: it loads nothing, and so it is there without a network."""
    page = render(request.app.openapi(), str(request.base_url).rstrip("/"))
    return HTMLResponse(page, headers={"Content-Security-Policy": _POLICY})
