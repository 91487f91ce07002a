"""Errors that only the HTTP edge knows; ``app.api.http.problems`` gives each its status."""

from __future__ import annotations

from typing import ClassVar

from app.core.errors import ServiceError


class UnprocessableError(ServiceError):
    """A request that is well formed and cannot be done."""

    default_code: ClassVar[str] = "invalid"


class MediaTypeError(ServiceError):
    """A body of a type, or in an encoding, that the route does not take."""

    default_code: ClassVar[str] = "unsupported_media_type"


class BodyTimeoutError(ServiceError):
    """A client that stopped sending in the midst of a body."""

    default_code: ClassVar[str] = "request_timeout"


class RangeError(ServiceError):
    """A byte range outside the file, whose size is ``size``."""

    default_code: ClassVar[str] = "range_not_satisfiable"

    def __init__(self, size: int) -> None:
        super().__init__(f"the range lies outside the file, which has {size} bytes")
        self.size = size
