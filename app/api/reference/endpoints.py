"""Route of the reference page. It needs no API key, since it shows nothing of any owner."""

from __future__ import annotations

from fastapi import APIRouter, Request
from starlette.responses import HTMLResponse, Response

from app.api.reference.page import render

router = APIRouter()

_POLICY = "default-src 'none'; style-src 'unsafe-inline'; base-uri 'none'; form-action 'none'; frame-ancestors 'none'"


@router.get("/docs", include_in_schema=False)
@router.head("/docs", include_in_schema=False)
def docs(request: Request) -> Response:
    """The page loads no other file, so it works without a network."""
    page = render(request.app.openapi(), str(request.base_url).rstrip("/"))
    return HTMLResponse(page, headers={"Content-Security-Policy": _POLICY})
