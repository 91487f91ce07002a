"""What a user is told of a run that failed, and what its log says of an exception."""

from __future__ import annotations

import traceback
from collections.abc import Iterator

from app.core.errors import ServiceError
from app.core.jobs import End
from app.core.states import Status
from cnet.errors import CnetError
from cnet.files import disk_full_detail, is_disk_full


def failed(error: Exception) -> End:
    """The end of a job whose run raised ``error``: a stable code, and words without a path or a traceback."""
    if isinstance(error, CnetError):
        where = f" (in phase {error.phase})" if error.phase else ""
        return End(Status.FAILED, error.code, f"{error.detail}{where}")
    if isinstance(error, ServiceError):
        return End(Status.FAILED, error.code, error.detail)
    if isinstance(error, MemoryError):
        return End(Status.FAILED, "out_of_memory", "there is not enough memory for this job: use a larger machine")
    if is_disk_full(error):
        return End(Status.FAILED, "storage_full", disk_full_detail("the job's files on the server", "retry the job"))
    return End(
        Status.FAILED,
        "internal_error",
        "the job failed because of a fault in cnet, not in its input: please report it with the job's log",
    )


def trace(error: BaseException) -> str:
    """A traceback for the log: modules, functions and lines, but no path of the server.

    An exception's own message stays: it is all that a person has to go by.
    """
    return "\n".join(_trace(error))


def _trace(error: BaseException) -> Iterator[str]:
    cause = error.__cause__ or (None if error.__suppress_context__ else error.__context__)
    if cause is not None:
        yield from _trace(cause)
        yield "which led to:"
    yield f"{type(error).__name__}: {error}"
    for frame, line in traceback.walk_tb(error.__traceback__):
        module = frame.f_globals.get("__name__", "?")
        yield f"  in {module}, {frame.f_code.co_qualname}, line {line}"
