"""The service's own errors. They carry no HTTP status: ``app.api.http.problems`` holds the one table.

ServiceError
├── NotFoundError          no such object, or another owner's
├── GoneError              it was there and has expired
├── ConflictError          the object's state forbids it (``in_use``, ``already_ended``, ...)
├── UnauthorizedError      no key, or not a valid one
├── ForbiddenError         a key without the scope
├── TooLargeError          a body over the limit
├── BadRequestError        a request that cannot be read
├── TooManyError           a quota
├── StorageFullError       no space left
├── UnavailableError       a part of the service does not answer
├── IdempotencyMismatchError   the key was used for another request
└── SchemaVersionError     the database is of another release
"""

from __future__ import annotations

from typing import ClassVar


class ServiceError(Exception):
    """Root. ``detail`` is for the user: what is wrong and what to do."""

    default_code: ClassVar[str] = "error"

    def __init__(self, detail: str, *, code: str | None = None) -> None:
        super().__init__(detail)
        self.detail = detail
        self.code = code or self.default_code


class NotFoundError(ServiceError):
    """No such object, or another owner's."""

    default_code = "not_found"


class GoneError(ServiceError):
    """It was there and has expired."""

    default_code = "gone"


class ConflictError(ServiceError):
    """The object's state forbids it."""

    default_code = "conflict"


class UnauthorizedError(ServiceError):
    """No key, or not a valid one."""

    default_code = "unauthorized"


class ForbiddenError(ServiceError):
    """A key without the scope."""

    default_code = "forbidden"


class TooLargeError(ServiceError):
    """A body over the limit."""

    default_code = "too_large"


class BadRequestError(ServiceError):
    """A request that cannot be read."""

    default_code = "bad_request"


class TooManyError(ServiceError):
    """A quota is used up; ``retry_after`` is in seconds."""

    default_code = "too_many"

    def __init__(self, detail: str, *, code: str | None = None, retry_after: int = 30) -> None:
        super().__init__(detail, code=code)
        self.retry_after = retry_after


class StorageFullError(ServiceError):
    """No space left."""

    default_code = "storage_full"


class UnavailableError(ServiceError):
    """A part of the service does not answer."""

    default_code = "unavailable"


class IdempotencyMismatchError(ServiceError):
    """The idempotency key was used for another request."""

    default_code = "idempotency_mismatch"


class SchemaVersionError(ServiceError):
    """The database is of another release."""

    default_code = "schema_version"
