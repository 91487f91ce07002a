"""Rendering pages: the templates, what every template can use, and the response."""

from __future__ import annotations

import re
from functools import cache
from pathlib import Path
from typing import Any

from jinja2 import Environment, FileSystemLoader, StrictUndefined
from starlette.requests import Request
from starlette.responses import HTMLResponse

from app import formatting
from app.web.static_files import static_version

_TEMPLATES = Path(__file__).parent / "templates"


def render(request: Request, template: str, status: int = 200, **values: Any) -> HTMLResponse:
    """A page, or a part of one, as a response.

    Args:
        request: for links, which include the path below which a proxy serves this server.
        template: name of the template.
        status: HTTP status.
        values: what the template shows.
    """
    base = request.scope.get("root_path", "").rstrip("/")
    common = {
        "base": base,
        "server": str(request.base_url).rstrip("/"),
        "path": request.url.path.removeprefix(base),
        "visitor": getattr(request.state, "visitor", None),
        "static": lambda name: f"{base}/static/{name}?v={static_version(name)}",
    }
    text = environment().get_template(template).render(**common, **values)
    return HTMLResponse(text, status)


@cache
def environment() -> Environment:
    """The templates. Names that do not exist are errors, and text never becomes markup."""
    made = Environment(
        loader=FileSystemLoader(_TEMPLATES),
        autoescape=True,
        undefined=StrictUndefined,
        trim_blocks=True,
        lstrip_blocks=True,
    )
    made.filters |= formatting.FILTERS
    made.tests["coded"] = lambda text: re.match(r"[a-z]+(?:_[a-z]+)+: ", text) is not None
    made.tests["contains"] = lambda values, value: value in values
    return made
