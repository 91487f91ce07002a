"""The reference of the API: Swagger UI, and without scripts a plain list of all routes."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

from fastapi import APIRouter, Request
from starlette.responses import Response

from app.web.page_route import PageRoute
from app.web.rendering import render

router = APIRouter(route_class=PageRoute, include_in_schema=False)


@router.get("/docs")
@router.head("/docs")
def docs(request: Request) -> Response:
    """The page. It needs no API key, since it shows nothing of any owner."""
    document = request.app.openapi()
    return render(request, "docs.html", info=document["info"], groups=_groups(document))


def _groups(document: Mapping[str, Any]) -> list[dict[str, Any]]:
    """The tags of the document, each with its operations: method, path, summary, and what it does."""
    groups = {row["name"]: {**row, "operations": []} for row in document["tags"]}
    for path, operations in document["paths"].items():
        for method, operation in operations.items():
            groups[operation["tags"][0]]["operations"].append({"method": method.upper(), "path": path, **operation})
    return list(groups.values())
