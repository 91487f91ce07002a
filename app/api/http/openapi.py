"""The OpenAPI document: what it says of bodies and problems, and the schemas that no route names."""

from __future__ import annotations

from collections.abc import Iterable
from typing import Any

from fastapi import FastAPI
from fastapi.openapi.utils import get_openapi
from pydantic import BaseModel

from app.api.http.problems import MEDIA_TYPE, Problem
from app.api.openapi.examples import add_examples
from app.api.openapi.refusals import add_refusals, refusals
from app.api.openapi.wording import reword
from cnet.spec import JobSpec

_REFERENCE = "#/components/schemas/{model}"

JOB_EXAMPLE: dict[str, Any] = {
    "checkpoint": "ckpt_1",
    "prune": {"name": "magnitude", "sparsity": [0.8, 0.9]},
    "quantize": {"name": "kmeans", "clusters": 16},
}
"""A job that needs no data set, as an example."""


def json_body(model: type[BaseModel], example: dict[str, Any]) -> dict[str, Any]:
    """A request body that a route reads by itself: JSON as ``model``, one of the ``bodies`` of ``describe``."""
    schema = {"$ref": _REFERENCE.format(model=model.__name__)}
    return {"requestBody": {"required": True, "content": {"application/json": {"schema": schema, "example": example}}}}


JOB_BODY = json_body(JobSpec, JOB_EXAMPLE)
"""The request body of a submission: a job specification."""

IDEMPOTENCY_HEADER: dict[str, Any] = {
    "parameters": [
        {
            "name": "Idempotency-Key",
            "in": "header",
            "required": False,
            "schema": {"type": "string", "minLength": 1, "maxLength": 255},
            "description": "A key of your choice, new for each new request. Repeating a request with the same key "
            "returns the answer of the first one and does nothing else.",
        }
    ]
}
"""The request header that every POST takes."""


def upload_body(reference: type[BaseModel]) -> dict[str, Any]:
    """The request body of an upload: the file itself, a form with one part ``file``, or JSON that names an upload."""
    file = {"type": "string", "format": "binary", "description": "The file."}
    return {
        "requestBody": {
            "required": True,
            "content": {
                "application/octet-stream": {"schema": {"type": "string", "format": "binary"}},
                "multipart/form-data": {
                    "schema": {"type": "object", "required": ["file"], "properties": {"file": file}}
                },
                "application/json": {
                    "schema": {**reference.model_json_schema(), "additionalProperties": False},
                    "example": {"upload": "up_1"},
                },
            },
        }
    }


def binary(media_type: str, description: str) -> dict[int | str, dict[str, Any]]:
    """The response 200 of a route that sends a file, for the OpenAPI document."""
    schema = {"type": "string", "format": "binary"}
    return {200: {"description": description, "content": {media_type: {"schema": schema}}}}


SENT: dict[int | str, dict[str, Any]] = {
    206: {"description": "The part of the file that `Range` asks for."},
    304: {"description": "The file is the one that `If-None-Match` names."},
    **refusals(416),
}
"""The other responses of a route that sends a file."""

LINKED: dict[int | str, dict[str, Any]] = {
    302: {
        "description": "The file is at the URL in `Location`, if the server is set up so. The digest is in the headers."
    }
}
"""The response of a route whose file may be read from the blob store."""


def describe(app: FastAPI, bodies: Iterable[type[BaseModel]]) -> dict[str, Any]:
    """The OpenAPI document of the application. It is made once.

    Args:
        app: the application with all of its routes.
        bodies: the models of the request bodies that routes read by themselves.
    """
    if app.openapi_schema is None:
        document = get_openapi(
            title=app.title, version=app.version, summary=app.summary, description=app.description,
            routes=app.routes, tags=app.openapi_tags,
        )  # fmt: skip
        schemas = document.setdefault("components", {}).setdefault("schemas", {})
        models: list[type[BaseModel]] = [Problem, *bodies]
        for model in models:
            schema = model.model_json_schema(ref_template=_REFERENCE)
            schemas |= schema.pop("$defs", {})
            schemas[model.__name__] = schema
        add_refusals(document, MEDIA_TYPE, {"$ref": _REFERENCE.format(model="Problem")})
        app.openapi_schema = add_examples(reword(document))
    return app.openapi_schema
