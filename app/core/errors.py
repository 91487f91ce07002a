"""The errors of the service. ``app.api.http.problems`` maps each to an HTTP status.

ServiceError
├── NotFoundError          no such object, or another owner's
├── GoneError              an object that has expired
├── DamagedBlobError       a stored file whose bytes have changed
├── ConflictError          a request that the object's state forbids (``in_use``, ``already_ended``, ...)
├── UnauthorizedError      no API key, or an invalid one
├── ForbiddenError         an API key without the needed scope
├── TooLargeError          a request body over the size limit
├── BadRequestError        a malformed request
├── TooManyError           a used-up quota
├── StorageFullError       no space left on the disk
├── UnavailableError       the database or the broker does not answer
├── IdempotencyMismatchError   an idempotency key that was used for another request
└── SchemaVersionError     a database with the tables of another release
"""

from __future__ import annotations

from typing import ClassVar


class ServiceError(Exception):
    """Root of the service's errors.

    Args:
        detail: what is wrong and what to do, for the user.
        code: stable code that programs rely on; by default that of the class.
    """

    default_code: ClassVar[str] = "error"

    def __init__(self, detail: str, *, code: str | None = None) -> None:
        super().__init__(detail)
        self.detail = detail
        self.code = code or self.default_code


class NotFoundError(ServiceError):
    """No such object, or another owner's."""

    default_code = "not_found"


class GoneError(ServiceError):
    """An object that has expired."""

    default_code = "gone"


class DamagedBlobError(ServiceError):
    """A stored file whose bytes are not those that were stored."""

    default_code = "damaged"


class ConflictError(ServiceError):
    """A request that the object's state forbids."""

    default_code = "conflict"


class UnauthorizedError(ServiceError):
    """No API key, or an invalid one."""

    default_code = "unauthorized"


class ForbiddenError(ServiceError):
    """An API key without the needed scope."""

    default_code = "forbidden"


class TooLargeError(ServiceError):
    """A request body over the size limit."""

    default_code = "too_large"


class BadRequestError(ServiceError):
    """A malformed request."""

    default_code = "bad_request"


class TooManyError(ServiceError):
    """A used-up quota. ``retry_after``: seconds after which the client should try again."""

    default_code = "too_many"

    def __init__(self, detail: str, *, code: str | None = None, retry_after: int = 30) -> None:
        super().__init__(detail, code=code)
        self.retry_after = retry_after


class StorageFullError(ServiceError):
    """No space left on the disk."""

    default_code = "storage_full"


class UnavailableError(ServiceError):
    """The database or the broker does not answer."""

    default_code = "unavailable"


class IdempotencyMismatchError(ServiceError):
    """An idempotency key that was used for another request."""

    default_code = "idempotency_mismatch"


class SchemaVersionError(ServiceError):
    """A database with the tables of another release."""

    default_code = "schema_version"
