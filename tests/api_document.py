"""The application and its OpenAPI document, which takes half a second to make, once in each process that runs tests."""

from __future__ import annotations

from functools import cache
from typing import Any

from fastapi import FastAPI

from app.main import create_app


@cache
def documented_app() -> FastAPI:
    """The application. It is not started."""
    return create_app()


def api_document() -> dict[str, Any]:
    """The OpenAPI document of the application. It is not to be changed."""
    return documented_app().openapi()
