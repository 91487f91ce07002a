"""Every refusal as RFC 9457 ``application/problem+json``, from one table of error classes and statuses."""

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

from app.api.http.errors import BodyTimeoutError, MediaTypeError, RangeError, UnprocessableError
from app.core.errors import (
    BadRequestError,
    ConflictError,
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
from cnet.errors import ArchitectureMismatchError, CheckpointError, CnetError, DatasetError, SpecError
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
    TooLargeError: 413,
    MediaTypeError: 415,
    RangeError: 416,
    UnprocessableError: 422,
    IdempotencyMismatchError: 422,
    SpecError: 422,
    CheckpointError: 422,
    DatasetError: 422,
    ArchitectureMismatchError: 422,
    TooManyError: 429,
    UnavailableError: 503,
    StorageFullError: 507,
}
"""The one table. What is not in it is a fault of the server: 500, without a word about its insides."""

_RETRY_SECONDS = 5
_DISK_FULL = disk_full_detail("the request's data on the server", "send the request again")


class ProblemError(BaseModel):
    """One thing wrong with a document: where (keys and indexes from the root) and what."""

    loc: list[str | int]
    msg: str


class Problem(BaseModel):
    """RFC 9457 problem. ``code`` is stable; ``detail`` says what is wrong and what to do."""

    type: str = "about:blank"
    title: str = Field(description="The status in words.")
    status: int
    detail: str
    code: str
    instance: str = Field(description="Path of the request.")
    request_id: str = Field(description="As in the header X-Request-Id; names the request in the server's log.")
    errors: list[ProblemError] | None = None


def problem_response(
    request: Request,
    status: int,
    code: str,
    detail: str,
    *,
    extra: Mapping[str, Any] | None = None,
    headers: Mapping[str, str] | None = None,
) -> Response:
    """A problem as a response. Takes the request for its path and id."""
    document = {
        "type": "about:blank",
        "title": HTTPStatus(status).phrase,
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
    """The problem for one of our errors, or of the foreign ones that have a meaning; None for a fault."""
    ours = known_error(error)
    status = _status(ours) if ours is not None else None
    if ours is None or status is None:
        return None
    extra, headers = _extra(ours), _headers(ours, status)
    return problem_response(request, status, ours.code, ours.detail, extra=extra, headers=headers)


def known_error(error: Exception) -> ServiceError | CnetError | None:
    """The error itself where it is ours; what a database or disk error means to the client; None for a fault."""
    if isinstance(error, ServiceError | CnetError):
        return error
    if isinstance(error, OperationalError) and _disk_is_full(error):
        return StorageFullError(_DISK_FULL)
    if isinstance(error, OperationalError | InterfaceError | PoolTimeoutError):
        return UnavailableError("the database does not answer; try again in a moment")
    if is_disk_full(error):
        return StorageFullError(_DISK_FULL)
    return None


def fault_response(request: Request) -> Response:
    """The problem for a fault of the server; says nothing of its cause."""
    detail = "something went wrong on the server; try again, or give the request_id to whoever runs it"
    return problem_response(request, 500, "internal_error", detail)


async def handle_known(request: Request, error: Exception) -> Response:
    """Starlette's handler of errors that may be in the table; re-raises a fault for the outermost layer."""
    response = known_problem(request, error)
    if response is None:
        raise error
    return response


async def handle_validation(request: Request, error: Exception) -> Response:
    """Starlette's handler of parameters that FastAPI refused."""
    rows: Sequence[Any] = error.errors() if isinstance(error, RequestValidationError) else ()
    errors = [{"loc": list(row["loc"]), "msg": str(row["msg"])} for row in rows]
    summary = "; ".join(f"{'.'.join(map(str, row['loc'][1:]))}: {row['msg']}" for row in errors[:5])
    detail = f"the request's parameters are not valid: {summary}"
    return problem_response(request, 422, "invalid_request", detail, extra={"errors": errors})


async def handle_http(request: Request, error: Exception) -> Response:
    """Starlette's handler of what routing refuses: unknown routes, wrong methods."""
    if not isinstance(error, HTTPException):
        raise error
    status = error.status_code
    details = {
        404: f"there is no {request.url.path}: the routes are listed at /docs",
        405: f"{request.url.path} does not take {request.method}",
    }
    code = HTTPStatus(status).phrase.lower().replace(" ", "_")
    headers = {**(error.headers or {}), **({"Allow": _allowed(request)} if status == 405 else {})}
    return problem_response(request, status, code, details.get(status, str(error.detail)), headers=headers)


def _allowed(request: Request) -> str:
    """All methods that the path takes; Starlette names those of the first route alone."""
    routes = request.app.routes
    methods = ("GET", "HEAD", "POST", "PUT", "PATCH", "DELETE")
    scopes = {method: {**request.scope, "method": method} for method in methods}
    return ", ".join(m for m in methods if any(route.matches(scopes[m])[0] is Match.FULL for route in routes))


def _disk_is_full(error: OperationalError) -> bool:
    """SQLite has its own word for no room for the index of its write-ahead log, which it needs even to read."""
    name = getattr(error.orig, "sqlite_errorname", None)
    return name == "SQLITE_IOERR_SHMSIZE" or "disk is full" in str(error.orig)


def _status(error: Exception) -> int | None:
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
    if status == 503:
        return {"Retry-After": str(_RETRY_SECONDS)}
    if isinstance(error, UnauthorizedError):
        return {"WWW-Authenticate": 'Bearer realm="cnet"'}
    if isinstance(error, BodyTimeoutError):
        return {"Connection": "close"}
    if isinstance(error, RangeError):
        return {"Content-Range": f"bytes */{error.size}"}
    return {}
