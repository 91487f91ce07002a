"""Looks at what the server depends on."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass

from sqlalchemy.exc import SQLAlchemyError

from app.api.backend import Backend
from app.api.http.problems import known_error
from app.api.request_folder import free_bytes
from app.core.db import migrate
from app.core.errors import ServiceError, StorageFullError
from app.core.workers import Workers


@dataclass(frozen=True)
class Health:
    """``ok``, or what is wrong, by what was looked at."""

    checks: dict[str, str]

    @property
    def ready(self) -> bool:
        """Whether all is well."""
        return all(result == "ok" for result in self.checks.values())


def look(backend: Backend) -> Health:
    """Disk, database (and its tables' release), broker; the disk first, since without space the others fail too."""
    return Health(
        {
            "disk": _outcome(lambda: _check_space(backend)),
            "database": _outcome(lambda: migrate.check(backend.database)),
            "broker": _outcome(backend.queue.ping),
        }
    )


def count_workers(backend: Backend) -> int:
    """Workers that were seen within their lease."""
    return len(Workers(backend.database).alive(backend.settings.lease_seconds))


def _check_space(backend: Backend) -> None:
    free, reserve = free_bytes(backend.settings.data_dir.absolute()), backend.settings.min_free_bytes
    if free < reserve:
        raise StorageFullError(f"{free:,} bytes are free for data, {reserve:,} are needed: make room")


def _outcome(check: Callable[[], None]) -> str:
    try:
        check()
    except (ServiceError, SQLAlchemyError, OSError) as error:
        known = known_error(error)
        if isinstance(known, StorageFullError) and known is not error:
            return "no space is left on its disk: make room"
        return known.detail if known is not None else "it does not answer"
    return "ok"
