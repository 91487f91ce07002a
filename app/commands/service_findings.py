"""What ``cnet doctor`` finds about the service on this machine: its settings, its database, its files, its broker."""

from __future__ import annotations

from collections.abc import Iterator
from contextlib import closing, suppress
from importlib.util import find_spec
from pathlib import Path
from typing import TYPE_CHECKING

from app.console.health import Finding, State

_GOOD = {
    "disk": "enough space is free",
    "database": "its tables are those of this release",
    "blobs": "the store of files answers",
    "broker": "it answers",
}

if TYPE_CHECKING:
    from app.core.settings import Settings


def data_folder(data: Path | None) -> Path:
    """The data folder that is meant: ``data``, else as the settings say, else ``./data``."""
    if data is None and find_spec("pydantic_settings") is not None:
        from pydantic import ValidationError

        from app.core.settings import Settings

        with suppress(ValidationError):
            return Settings().data_dir
    return data or Path("data")


def service_findings(data: Path | None) -> Iterator[Finding]:
    """Check the settings of the environment, and what they name where a service is set up here.

    A service is set up where the environment names a database, a broker or a store of files, or where the data folder
    has a database. Without the packages of the server there is nothing to check.

    Args:
        data: the data folder; None: as the settings say.
    """
    if find_spec("pydantic_settings") is None or find_spec("sqlalchemy") is None:
        return
    from pydantic import ValidationError

    from app.commands.failures import describe
    from app.up.command import UpOptions, settings_for

    try:
        settings = settings_for(UpOptions(data=data))
    except ValidationError as error:
        yield Finding.problem("settings", describe(error).detail)
        return
    yield Finding("settings", State.OK, "valid")
    if settings.database_url or settings.broker_url or settings.blobs_url or settings.database_file.exists():
        yield from _reached(settings)


def _reached(settings: Settings) -> Iterator[Finding]:
    """One finding for each part of the service that the settings name."""
    from sqlalchemy.exc import SQLAlchemyError

    from app.api.backend import Backend
    from app.api.health.service import check_health

    try:
        backend = Backend.create(settings)
    except (SQLAlchemyError, ImportError) as error:
        yield Finding("database", State.PROBLEM, f"CNET_DATABASE_URL cannot be used: {error}", "Correct the variable.")
        return
    with closing(backend):
        for name, said in check_health(backend).checks.items():
            if name == "broker" and not settings.broker_url:
                continue  # the private Valkey runs only while ``cnet up`` does
            yield Finding(name, State.OK, _GOOD[name]) if said == "ok" else Finding.problem(name, said)
