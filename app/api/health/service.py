"""Checks of the disk, the database, the blob store and the broker."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass

from sqlalchemy.exc import SQLAlchemyError

from app.api.backend import Backend
from app.api.http.problems import known_error
from app.core.db import revision
from app.core.disk import free_bytes
from app.core.errors import ServiceError, StorageFullError


@dataclass(frozen=True)
class Health:
    """The result of each check by its name: ``ok``, or what is wrong and what to do."""

    checks: dict[str, str]

    @property
    def ready(self) -> bool:
        """Whether all checks succeeded."""
        return all(result == "ok" for result in self.checks.values())


def check_health(backend: Backend) -> Health:
    """Check disk, database and its tables, blob store and broker. Without disk space the others often fail too."""
    return Health(
        {
            "disk": _outcome(lambda: _check_space(backend)),
            "database": _outcome(lambda: revision.check(backend.database)),
            "blobs": _outcome(backend.blobs.ping),
            "broker": _outcome(backend.queue.ping),
        }
    )


def count_workers(backend: Backend) -> int:
    """Number of workers that have reported within the last ``lease_seconds``."""
    return len(backend.workers.alive(backend.settings.lease_seconds))


def _check_space(backend: Backend) -> None:
    free, reserve = free_bytes(backend.settings.data_dir.absolute()), backend.settings.min_free_bytes
    if free < reserve:
        raise StorageFullError(
            f"{free:,} bytes are free in the data folder, but {reserve:,} are needed. Delete data or enlarge the disk."
        )


def _outcome(check: Callable[[], None]) -> str:
    try:
        check()
    except (ServiceError, SQLAlchemyError, OSError) as error:
        known = known_error(error)
        if isinstance(known, StorageFullError) and known is not error:
            return "no space is left on its disk. Delete data or enlarge the disk."
        return _without_subject(known.detail) if known is not None else "it does not answer. Check that it is running."
    return "ok"


def _without_subject(detail: str) -> str:
    """What is wrong, without the words before the colon that name the part: the name of the check says it already."""
    subject, colon, rest = detail.partition(": ")
    return rest if colon and subject.replace(" ", "").isalpha() else detail
