"""The refusals that the OpenAPI document lists for each route: by what the route takes, and by what it declares."""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from http import HTTPStatus
from typing import Any

DESCRIPTIONS: Mapping[int, str] = {
    400: "The request is malformed: a header, or JSON that is none.",
    401: "The API key is missing, unknown or revoked.",
    403: "The API key lacks the scope, or a page of another site sent the request.",
    404: "You have no such object.",
    408: "The body stopped arriving.",
    409: "The state of the object forbids it, or another request with the same `Idempotency-Key` is being answered.",
    410: "The object has expired and was removed.",
    412: "The version of the tus protocol is missing, or it is not the server's.",
    413: "The body is larger than the server accepts.",
    415: "The Content-Type or Content-Encoding of the body is not accepted.",
    416: "The range begins after the end of the content.",
    422: "The request is well-formed and not valid: `errors` or `code` says why.",
    423: "Another request is changing the object.",
    429: "A quota is used up, or too many requests were sent in a minute. `Retry-After` says when to try again.",
    460: "The bytes do not have the checksum that was sent with them.",
    500: "A fault of the server. `request_id` names it in the server's log.",
    503: "The database, the store or the broker does not answer. `Retry-After` says when to try again.",
    507: "No space is left for it.",
}
"""What each status of an error means, for every route."""

HEADERS: Mapping[int, str] = {
    401: "WWW-Authenticate",
    416: "Content-Range",
    429: "Retry-After",
    503: "Retry-After",
}
"""The header that an answer with this status always has."""

_OWN_NAMES = {460: "ChecksumMismatch"}  # of the tus protocol, which Python does not know
_PERMANENT = frozenset({"key_id", "digest"})  # path parameters that name what does not expire


def refusals(*statuses: int) -> dict[int | str, dict[str, Any]]:
    """The error responses of a route or of all routes of a router, for the argument ``responses`` of FastAPI.

    Every one of these routes also has those that ``add_refusals`` derives from what it takes.

    Args:
        statuses: those that only the route itself knows of, each one of ``DESCRIPTIONS``.
    """
    return {status: {"description": DESCRIPTIONS[status]} for status in statuses} | {"default": {"description": ""}}


def add_refusals(document: dict[str, Any], media_type: str, schema: Mapping[str, Any]) -> None:
    """List in the document, for each operation whose responses have ``default``, every status of an error in its place.

    Args:
        document: the OpenAPI document, which is changed.
        media_type: of the body of an error.
        schema: of the body of an error.
    """
    for operations in document["paths"].values():
        for operation in operations.values():
            responses = operation["responses"]
            if responses.pop("default", None) is None:
                continue
            declared = {int(status) for status in responses} & set(DESCRIPTIONS)
            for status in declared.union(_derived(operation)):
                responses[str(status)] = {"$ref": f"#/components/responses/{_name(status)}"}
            operation["responses"] = dict(sorted(responses.items()))
    content = {media_type: {"schema": dict(schema)}}
    document["components"]["responses"] = {
        _name(status): {"description": text, "content": content, **_headers(status)}
        for status, text in DESCRIPTIONS.items()
    }


def _derived(operation: Mapping[str, Any]) -> Iterator[int]:
    """The refusals that follow from what an operation takes."""
    parameters = operation.get("parameters", ())
    yield 500
    if operation.get("security"):
        yield from (401, 403, 429, 503, 507)
    named = {parameter["name"] for parameter in parameters if parameter["in"] == "path"}
    if named:
        yield 404
    if named - _PERMANENT:
        yield 410
    if any(parameter["in"] == "query" or "pattern" in parameter.get("schema", ()) for parameter in parameters):
        yield 422
    if any(parameter["name"] == "Idempotency-Key" for parameter in parameters):
        yield from (400, 409, 422)
    if "requestBody" in operation:
        yield from (400, 408, 413, 415, 422)


def _name(status: int) -> str:
    """The name of the component that describes a status, such as ``NotFound``."""
    return _OWN_NAMES.get(status) or HTTPStatus(status).phrase.title().replace(" ", "").replace("-", "")


def _headers(status: int) -> dict[str, Any]:
    name = HEADERS.get(status)
    if name is None:
        return {}
    kind = "integer" if name == "Retry-After" else "string"
    return {"headers": {name: {"required": True, "schema": {"type": kind}, "description": _HEADER_TEXTS[name]}}}


_HEADER_TEXTS = {
    "WWW-Authenticate": "How to authenticate.",
    "Content-Range": "`bytes */SIZE`, with the size of the content in bytes.",
    "Retry-After": "Seconds after which to try again.",
}
