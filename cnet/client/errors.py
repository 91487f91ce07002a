"""Errors between a client and a server.

CnetError
└── ClientError
    ├── ApiError            the server answered with a problem
    ├── UnreachableError    the server did not answer, or the connection broke too often
    └── WaitTimeoutError    a job has not ended in the time that the caller gave
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
        document: the complete problem document.
    """

    def __init__(self, status: int, document: dict[str, Any]) -> None:
        detail = str(
            document.get("detail")
            or document.get("title")
            or f"server: it answered with status {status} and no reason. Try again later."
        )
        super().__init__(detail, code=str(document.get("code") or f"http_{status}"))
        self.status = status
        self.issues = tuple(_issue(row) for row in document.get("errors") or ())
        self.request_id: str | None = document.get("request_id")
        self.document = document


class UnreachableError(ClientError):
    """The server did not answer, or the connection broke too often."""

    default_code = "unreachable"


class WaitTimeoutError(ClientError):
    """The job has not ended in the time given. It goes on."""

    default_code = "wait_timeout"


def _issue(row: dict[str, Any]) -> Issue:
    loc = row.get("loc") or ()
    return Issue(tuple(loc) if isinstance(loc, list | tuple) else (str(loc),), str(row.get("msg", "")))
