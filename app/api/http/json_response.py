"""JSON responses without NaN and infinity."""

from __future__ import annotations

import json
from collections.abc import Mapping
from typing import Any

from pydantic import BaseModel
from starlette.responses import Response


def json_response(content: Any, status: int = 200, headers: Mapping[str, str] | None = None) -> Response:
    """A JSON response. ``content`` may contain pydantic models at any depth.

    Raises:
        ValueError: a number in it is NaN or infinite.
        TypeError: a value in it has no JSON form.
    """
    text = json.dumps(content, allow_nan=False, ensure_ascii=False, separators=(",", ":"), default=_plain)
    return Response(text.encode("utf-8", "replace"), status, headers=headers, media_type="application/json")


def model_response(model: BaseModel) -> Response:
    """A JSON response with one pydantic model, which its own serializer writes at once; NaN and infinity are null."""
    return Response(model.model_dump_json(by_alias=True), media_type="application/json")


def _plain(value: Any) -> Any:
    if isinstance(value, BaseModel):
        return value.model_dump(by_alias=True)
    raise TypeError(f"{type(value).__name__}: it has no JSON form. Convert it before it is sent.")
