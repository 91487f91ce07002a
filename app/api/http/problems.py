"""Errors as problem documents (RFC 9457), by one table from error class to status."""

from __future__ import annotations

import json
from collections.abc import Mapping, Sequence
from http import HTTPStatus
from typing import Any

from fastapi.exceptions import RequestValidationError
from pydantic import BaseModel, Field
from sqlalchemy.exc import InterfaceError, OperationalError
from sqlalchemy.exc import TimeoutError as PoolTimeoutError
from starlette.exceptions import HTTPException
from starlette.requests import Request
from starlette.responses import Response
from starlette.routing import Match

from app.api.http.errors import (
    BodyTimeoutError,
    ChecksumError,
    LockedError,
    MediaTypeError,
    PreconditionError,
    RangeError,
    UnprocessableError,
)
from app.core.errors import (
    BadRequestError,
    ConflictError,
    DamagedBlobError,
    ForbiddenError,
    GoneError,
    IdempotencyMismatchError,
    NotFoundError,
    ServiceError,
    StorageFullError,
    TooLargeError,
    TooManyError,
    UnauthorizedError,
    UnavailableError,
)
from cnet.errors import ArchitectureMismatchError, CheckpointError, CnetError, DatasetError, ProgramError, SpecError
from cnet.files import disk_full_detail, is_disk_full

MEDIA_TYPE = "application/problem+json"

STATUSES: dict[type[Exception], int] = {
    BadRequestError: 400,
    UnauthorizedError: 401,
    ForbiddenError: 403,
    NotFoundError: 404,
    BodyTimeoutError: 408,
    ConflictError: 409,
    GoneError: 410,
    PreconditionError: 412,
    TooLargeError: 413,
    MediaTypeError: 415,
    RangeError: 416,
    UnprocessableError: 422,
    IdempotencyMismatchError: 422,
    SpecError: 422,
    CheckpointError: 422,
    DatasetError: 422,
    ProgramError: 422,
    ArchitectureMismatchError: 422,
    LockedError: 423,
    TooManyError: 429,
    ChecksumError: 460,
    DamagedBlobError: 500,
    UnavailableError: 503,
    StorageFullError: 507,
}
"""Status of each error class. Other exceptions are faults of the server: 500, and nothing of them is shown."""

_OWN_TITLES = {460: "Checksum Mismatch"}  # of the tus protocol, which Python does not know
_RETRY_SECONDS = 5
_LONGEST_VALUE = 60  # characters of a parameter that a problem shows
_DISK_FULL = disk_full_detail("the request's data on the server", "send the request again")


class ProblemError(BaseModel):
    """One thing that is wrong with the request."""

    loc: list[str | int] = Field(description="Where: names and indexes from the root of the document.")
    msg: str = Field(description="What is wrong there.")


class Problem(BaseModel):
    """An error (RFC 9457)."""

    type: str = Field(default="about:blank", description="Always `about:blank`: `code` tells the kinds apart.")
    title: str = Field(description="The HTTP status in words.")
    status: int = Field(description="The HTTP status.")
    detail: str = Field(description="What is wrong and what to do, for people.")
    code: str = Field(description="What is wrong, for programs. The codes do not change.")
    instance: str = Field(description="Path of the request.")
    request_id: str = Field(description="Name of the request in the server's log; also the header X-Request-Id.")
    errors: list[ProblemError] | None = Field(default=None, description="All that is wrong with a document.")


def problem_response(
    request: Request,
    status: int,
    code: str,
    detail: str,
    *,
    extra: Mapping[str, Any] | None = None,
    headers: Mapping[str, str] | None = None,
) -> Response:
    """A problem document as a response.

    Args:
        request: for its path and id.
        status: HTTP status.
        code: stable code for programs.
        detail: what is wrong and what to do.
        extra: further members of the document.
        headers: further response headers.
    """
    document = {
        "type": "about:blank",
        "title": _OWN_TITLES.get(status) or HTTPStatus(status).phrase,
        "status": status,
        "detail": detail,
        "code": code,
        "instance": request.url.path,
        **(extra or {}),
        "request_id": getattr(request.state, "request_id", ""),
    }
    text = json.dumps(document, allow_nan=False)
    return Response(text, status, headers={"Cache-Control": "no-store", **(headers or {})}, media_type=MEDIA_TYPE)


def known_problem(request: Request, error: Exception) -> Response | None:
    """The problem for an exception, or None where it is a fault of the server."""
    known = known_error(error)
    status = status_of(known) if known is not None else None
    if known is None or status is None:
        return None
    extra, headers = _extra(known), _headers(known, status)
    return problem_response(request, status, known.code, known.detail, extra=extra, headers=headers)


def known_error(error: Exception) -> ServiceError | CnetError | None:
    """The error that an exception means to the client: itself, or what a database or disk error amounts to.

    None where it is a fault of the server.
    """
    if isinstance(error, ServiceError | CnetError):
        return error
    if isinstance(error, OperationalError) and _means_disk_full(error):
        return StorageFullError(_DISK_FULL)
    if isinstance(error, OperationalError | InterfaceError | PoolTimeoutError):
        return UnavailableError("database: it does not answer. Try again in a moment.")
    if is_disk_full(error):
        return StorageFullError(_DISK_FULL)
    return None


def fault_response(request: Request) -> Response:
    """The problem for a fault of the server. It does not show the cause."""
    detail = "server: an unexpected error happened. Try again, or give the request_id to whoever runs the server."
    return problem_response(request, 500, "internal_error", detail)


async def handle_known(request: Request, error: Exception) -> Response:
    """Answer an exception for Starlette. A fault of the server is raised again, for ``RequestContext``."""
    response = known_problem(request, error)
    if response is None:
        raise error
    return response


async def handle_validation(request: Request, error: Exception) -> Response:
    """Answer a request whose parameters FastAPI found invalid."""
    rows: Sequence[Any] = error.errors() if isinstance(error, RequestValidationError) else ()
    errors = [{"loc": list(row["loc"]), "msg": f"{row['msg']}{_given(row)}"} for row in rows]
    summary = "; ".join(f"{'.'.join(map(str, row['loc'][1:]))}: {row['msg']}" for row in errors[:5])
    detail = f"request parameters: they are not valid ({summary}). Correct them and send the request again."
    return problem_response(request, 422, "invalid_request", detail, extra={"errors": errors})


def _given(row: Mapping[str, Any]) -> str:
    """The value of a parameter that was refused, where it has a short one."""
    value = row.get("input")
    return f", not {value!r}" if isinstance(value, str | int | float) and len(str(value)) <= _LONGEST_VALUE else ""


async def handle_http(request: Request, error: Exception) -> Response:
    """Answer a request that Starlette refused, such as one to an unknown route or with a wrong method."""
    if not isinstance(error, HTTPException):
        raise error
    status = error.status_code
    allowed = _allowed(request) if status == 405 else ""
    details = {
        404: f"{request.url.path}: there is no such route. Choose one of those that /docs lists.",
        405: f"{request.url.path}: it does not accept {request.method}. Use one of: {allowed}.",
    }
    detail = details.get(status, f"request: {error.detail}. Correct it and send it again.")
    code = HTTPStatus(status).phrase.lower().replace(" ", "_")
    headers = {**(error.headers or {}), **({"Allow": allowed} if status == 405 else {})}
    return problem_response(request, status, code, detail, headers=headers)


def _allowed(request: Request) -> str:
    """All methods that the path accepts. Starlette itself names only those of the first route."""
    routes = request.app.routes
    methods = ("GET", "HEAD", "POST", "PUT", "PATCH", "DELETE")
    scopes = {method: {**request.scope, "method": method} for method in methods}
    return ", ".join(m for m in methods if any(route.matches(scopes[m])[0] is Match.FULL for route in routes))


def _means_disk_full(error: OperationalError) -> bool:
    """Whether the disk is full. SQLite has an error of its own for the index of its write-ahead log."""
    name = getattr(error.orig, "sqlite_errorname", None)
    return name == "SQLITE_IOERR_SHMSIZE" or "disk is full" in str(error.orig)


def status_of(error: Exception) -> int | None:
    """The HTTP status of a known error; None for a fault of the server."""
    return next((STATUSES[cls] for cls in type(error).__mro__ if cls in STATUSES), None)


def _extra(error: Exception) -> dict[str, Any]:
    if isinstance(error, SpecError) and error.issues:
        return {"errors": [{"loc": list(issue.loc), "msg": issue.msg} for issue in error.issues]}
    if isinstance(error, ArchitectureMismatchError):
        return {
            "missing": list(error.missing),
            "unexpected": list(error.unexpected),
            "mismatched": list(error.mismatched),
        }
    return {}


def _headers(error: Exception, status: int) -> dict[str, str]:
    if isinstance(error, TooManyError):
        return {"Retry-After": str(error.retry_after)}
    if isinstance(error, LockedError):
        return {"Retry-After": "1"}
    if isinstance(error, PreconditionError):
        return {"Tus-Version": "1.0.0"}
    if status == 503:
        return {"Retry-After": str(_RETRY_SECONDS)}
    if isinstance(error, UnauthorizedError):
        return {"WWW-Authenticate": 'Bearer realm="cnet"'}
    if isinstance(error, BodyTimeoutError):
        return {"Connection": "close"}
    if isinstance(error, RangeError):
        return {"Content-Range": f"bytes */{error.size}"}
    return {}
