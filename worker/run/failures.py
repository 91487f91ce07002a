"""Exceptions that ended a run: what the user is told, and what the log of the job says."""

from __future__ import annotations

import traceback
from collections.abc import Iterator

from app.core.errors import ServiceError
from app.core.jobs import End
from app.core.states import Status
from cnet.errors import CnetError
from cnet.files import disk_full_detail, is_disk_full


def failure_of(error: Exception) -> End:
    """The recorded end of a job whose run raised ``error``: a stable code, and a detail without paths or traceback."""
    if isinstance(error, CnetError) and not isinstance(error, OSError):
        where = f" (in phase {error.phase})" if error.phase else ""
        return End(Status.FAILED, error.code, f"{error.detail}{where}")
    if isinstance(error, ServiceError):
        return End(Status.FAILED, error.code, error.detail)
    if isinstance(error, MemoryError):
        return End(
            Status.FAILED,
            "out_of_memory",
            "there is not enough memory for this job. Run it on a worker with more memory.",
        )
    if is_disk_full(error):
        return End(Status.FAILED, "storage_full", disk_full_detail("the job's files on the server", "retry the job"))
    return End(
        Status.FAILED,
        "internal_error",
        "the job failed because of an error in cnet, not in its input. Report it together with the job's log.",
    )


def traceback_text(error: BaseException) -> str:
    """A traceback for the log of a job: modules, functions and line numbers, but no paths of the server.

    The message of each exception is kept, even where it names a path: without it nobody can find the error.
    """
    return "\n".join(_traceback_lines(error))


def _traceback_lines(error: BaseException) -> Iterator[str]:
    cause = error.__cause__ or (None if error.__suppress_context__ else error.__context__)
    if cause is not None:
        yield from _traceback_lines(cause)
        yield "which caused:"
    yield f"{type(error).__name__}: {error}"
    for frame, line in traceback.walk_tb(error.__traceback__):
        module = frame.f_globals.get("__name__", "?")
        yield f"  in {module}, {frame.f_code.co_qualname}, line {line}"
