"""Responses with an SVG image."""

from __future__ import annotations

from starlette.responses import Response

_POLICY = "default-src 'none'; style-src 'unsafe-inline'; frame-ancestors 'self'"


def svg_response(text: str) -> Response:
    """An image by itself. It has its style inside, and its policy forbids it to load or run anything."""
    headers = {"Cache-Control": "private, no-cache", "Content-Security-Policy": _POLICY}
    return Response(text, headers=headers, media_type="image/svg+xml")
