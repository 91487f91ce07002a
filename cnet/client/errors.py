"""Errors between a client and a server.

CnetError
└── ClientError
    ├── ApiError                  the server answered with a problem
    │   ├── InvalidRequestError   400, 413, 415, 422: the request or the file in it is wrong
    │   ├── AuthenticationError   401, 403: the key is missing or wrong, or allows too little
    │   ├── NotFoundError         404, 410: there is no such object, or it is gone
    │   ├── ConflictError         409: the state of the object does not allow it
    │   ├── RateLimitError        429: too many requests or jobs
    │   └── ServerError           5xx: the server is at fault
    ├── UnreachableError          the server did not answer, or the connection broke too often
    ├── WaitTimeoutError          a job has not ended in the time that the caller gave
    └── JobFailedError            a job ended without a result
"""

from __future__ import annotations

from typing import Any, ClassVar

from cnet.errors import CnetError, Issue


class ClientError(CnetError):
    """Root of the client's errors."""

    default_code: ClassVar[str] = "client_error"


class ApiError(ClientError):
    """The server answered with a problem (RFC 9457).

    Attributes:
        status: HTTP status.
        code: the problem's stable code.
        detail: what is wrong and what to do, as the server says it.
        issues: each fault of the request, where the server lists them.
        request_id: identifies the request in the server's log.
        retry_after: seconds after which the server wants to be asked again; None where it says nothing.
        document: the complete problem document.
    """

    def __init__(self, status: int, document: dict[str, Any], retry_after: float | None = None) -> None:
        detail = str(
            document.get("detail")
            or document.get("title")
            or f"server: it answered with status {status} and no reason. Try again later."
        )
        super().__init__(detail, code=str(document.get("code") or f"http_{status}"))
        self.status = status
        self.issues = tuple(_issue(row) for row in document.get("errors") or ())
        self.request_id: str | None = document.get("request_id")
        self.retry_after = retry_after
        self.document = document


class InvalidRequestError(ApiError):
    """The request, or the file in it, is wrong."""


class AuthenticationError(ApiError):
    """The API key is missing or wrong, or does not allow the request."""


class NotFoundError(ApiError):
    """There is no such object, or it has expired."""


class ConflictError(ApiError):
    """The state of the object does not allow the request."""


class RateLimitError(ApiError):
    """There were too many requests, or there are too many jobs, also after several attempts."""


class ServerError(ApiError):
    """The server is at fault, also after several attempts."""


class UnreachableError(ClientError):
    """The server did not answer, or the connection broke too often."""

    default_code = "unreachable"


class WaitTimeoutError(ClientError):
    """The job has not ended in the time given. It goes on."""

    default_code = "wait_timeout"


class JobFailedError(ClientError):
    """A job has ended without a result: it failed, was cancelled, or took too long. ``code`` is that of the job."""


_CLASSES: dict[int, type[ApiError]] = {
    **dict.fromkeys((400, 413, 415, 422), InvalidRequestError),
    **dict.fromkeys((401, 403), AuthenticationError),
    **dict.fromkeys((404, 410), NotFoundError),
    409: ConflictError,
    429: RateLimitError,
}


def api_error(status: int, document: dict[str, Any], retry_after: float | None = None) -> ApiError:
    """The error of the class that fits the status."""
    kind = ServerError if status >= 500 else _CLASSES.get(status, ApiError)
    return kind(status, document, retry_after)


def _issue(row: dict[str, Any]) -> Issue:
    loc = row.get("loc") or ()
    return Issue(tuple(loc) if isinstance(loc, list | tuple) else (str(loc),), str(row.get("msg", "")))
