"""Looks at what the server depends on."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass

from sqlalchemy.exc import SQLAlchemyError

from app.api.container import Container
from app.api.scratch import check_space
from app.core.db import migrate
from app.core.errors import ServiceError
from app.core.workers import Workers


@dataclass(frozen=True)
class Health:
    """``ok``, or what is wrong, by what was looked at."""

    checks: dict[str, str]

    @property
    def ready(self) -> bool:
        """Whether all is well."""
        return all(result == "ok" for result in self.checks.values())


def look(core: Container) -> Health:
    """Database (and its tables' release), broker, disk."""
    return Health(
        {
            "database": _outcome(lambda: migrate.check(core.database)),
            "broker": _outcome(core.queue.ping),
            "disk": _outcome(lambda: check_space(core.settings.data_dir.absolute(), 0, core.settings.min_free_bytes)),
        }
    )


def count_workers(core: Container) -> int:
    """Workers that were seen within their lease."""
    return len(Workers(core.database).alive(core.settings.lease_seconds))


def _outcome(check: Callable[[], None]) -> str:
    try:
        check()
    except ServiceError as error:
        return error.detail
    except SQLAlchemyError:
        return "the database does not answer"
    except OSError:
        return "it does not answer"
    return "ok"
