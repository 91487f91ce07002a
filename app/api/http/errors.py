"""Errors that only HTTP has; ``app.api.http.problems`` maps each to its status."""

from __future__ import annotations

from typing import ClassVar

from app.core.errors import ServiceError


class UnprocessableError(ServiceError):
    """A well-formed request that cannot be fulfilled."""

    default_code: ClassVar[str] = "invalid"


class MediaTypeError(ServiceError):
    """A request body whose media type or encoding the route does not accept."""

    default_code: ClassVar[str] = "unsupported_media_type"


class BodyTimeoutError(ServiceError):
    """A client that stopped sending within a request body."""

    default_code: ClassVar[str] = "request_timeout"


class PreconditionError(ServiceError):
    """A request in a version of a protocol that the server does not speak."""

    default_code: ClassVar[str] = "unsupported_version"


class LockedError(ServiceError):
    """An object that another request is changing."""

    default_code: ClassVar[str] = "locked"


class ChecksumError(ServiceError):
    """Bytes that do not have the checksum that was sent with them."""

    default_code: ClassVar[str] = "checksum_mismatch"


class RangeError(ServiceError):
    """A byte range outside the file. ``size``: bytes of the file."""

    default_code: ClassVar[str] = "range_not_satisfiable"

    def __init__(self, size: int) -> None:
        super().__init__(
            f"Range: it begins after the end of the file, which has {size} bytes. Request an earlier range."
        )
        self.size = size
