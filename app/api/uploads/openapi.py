"""What the OpenAPI document says of the routes of resumable uploads: their headers, bodies and answers."""

from __future__ import annotations

from typing import Any

from starlette.responses import Response

from app.api.http.openapi import IDEMPOTENCY_HEADER
from app.api.openapi.refusals import refusals
from app.api.uploads.headers import CHECKSUMS, CHUNK_TYPE, VERSION
from app.api.uploads.schemas import UploadView

_NATURAL = {"type": "integer", "minimum": 0}
_TEXT = {"type": "string"}


def _parameter(name: str, schema: dict[str, Any], description: str, *, required: bool = False) -> dict[str, Any]:
    return {"name": name, "in": "header", "required": required, "schema": schema, "description": description}


def _header(schema: dict[str, Any], description: str) -> dict[str, Any]:
    return {"schema": schema, "description": description}


def _answer(description: str, *names: str) -> dict[str, Any]:
    return {"description": description, "headers": {name: _HEADERS[name] for name in names}}


_VERSION_PARAMETER = _parameter(
    "Tus-Resumable", {"type": "string", "enum": [VERSION]}, "Version of the tus protocol.", required=True
)
_LENGTH = _parameter("Upload-Length", _NATURAL, "Size of the file in bytes.", required=True)
_METADATA = _parameter(
    "Upload-Metadata", _TEXT, "Keys with values in base64, separated by commas. `filename` and `purpose` are used."
)
_OFFSET = _parameter("Upload-Offset", _NATURAL, "Number of bytes that the server has.", required=True)
_CHECKSUM = _parameter(
    "Upload-Checksum", _TEXT, f"Checksum of the body: one of {', '.join(CHECKSUMS)}, a space, the digest in base64."
)
_HEADERS = {
    "Location": _header(_TEXT, "Path of the upload."),
    "Upload-Offset": _header(_NATURAL, "Number of bytes that the server has for certain."),
    "Upload-Length": _header(_NATURAL, "Size of the file in bytes."),
    "Upload-Expires": _header(_TEXT, "Time after which the upload is removed, unless more bytes arrive."),
    "Upload-Metadata": _header(_TEXT, "As the client sent it."),
    "Tus-Version": _header(_TEXT, "Versions of the protocol."),
    "Tus-Extension": _header(_TEXT, "Extensions of the protocol."),
    "Tus-Max-Size": _header(_NATURAL, "Size of the largest upload in bytes."),
    "Tus-Checksum-Algorithm": _header(_TEXT, "Algorithms of Upload-Checksum."),
}
_BODY = {"content": {CHUNK_TYPE: {"schema": {"type": "string", "format": "binary"}}}}

SERVER: dict[str, Any] = {
    "status_code": 204,
    "responses": {
        204: _answer(
            "What the server can do.", "Tus-Version", "Tus-Extension", "Tus-Max-Size", "Tus-Checksum-Algorithm"
        )
    },
}
"""Of ``OPTIONS``."""

CREATION: dict[str, Any] = {
    "response_model": UploadView,
    "responses": {
        201: _answer("The upload.", "Location", "Upload-Offset", "Upload-Expires"),
        **refusals(412, 423, 429, 460),
    },
    "openapi_extra": {
        "parameters": [_VERSION_PARAMETER, _LENGTH, _METADATA, _CHECKSUM, *IDEMPOTENCY_HEADER["parameters"]],
        "requestBody": {"required": False, **_BODY},
    },
}
"""Of ``POST``."""

DESCRIBED: dict[str, Any] = {
    "response_class": Response,  # without content
    "responses": {
        200: _answer("The offset.", "Upload-Offset", "Upload-Length", "Upload-Expires", "Upload-Metadata"),
        **refusals(412),
    },
    "openapi_extra": {"parameters": [_VERSION_PARAMETER]},
}
"""Of ``HEAD``."""

APPENDED: dict[str, Any] = {
    "responses": {
        204: _answer("The bytes are on the disk.", "Upload-Offset", "Upload-Expires"),
        **refusals(409, 412, 423, 460),
    },
    "openapi_extra": {
        "parameters": [_VERSION_PARAMETER, _OFFSET, _CHECKSUM],
        "requestBody": {"required": True, **_BODY},
    },
}
"""Of ``PATCH``."""

VERSIONED: dict[str, Any] = {"responses": refusals(412), "openapi_extra": {"parameters": [_VERSION_PARAMETER]}}
"""Of the others."""
