"""Choosing the media type of a response by the header Accept (RFC 9110 §12.5.1)."""

from __future__ import annotations

from collections.abc import Sequence

from starlette.requests import Request


def prefers(request: Request, offered: Sequence[str]) -> str:
    """The offered media type that the client prefers; the first of several, and the first where it accepts none."""
    ranges = [_parse(text) for text in request.headers.get("accept", "*/*").split(",")]
    return max(offered, key=lambda media_type: _quality(media_type, ranges))


def _quality(media_type: str, ranges: Sequence[tuple[str, float]]) -> float:
    """The quality value of the most specific range that covers the media type; 0 where none does."""
    kind = media_type.partition("/")[0]
    for pattern in (media_type, f"{kind}/*", "*/*"):
        found = [quality for name, quality in ranges if name == pattern]
        if found:
            return max(found)
    return 0.0


def _parse(text: str) -> tuple[str, float]:
    name, *parameters = (word.strip().lower() for word in text.split(";"))
    for parameter in parameters:
        if parameter.startswith("q="):
            try:
                return name, float(parameter[2:])
            except ValueError:
                return name, 0.0
    return name, 1.0
