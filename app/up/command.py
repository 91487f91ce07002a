"""Start the service. Everything that can be wrong is checked before a process is started."""

from __future__ import annotations

from collections.abc import Callable, Iterator
from contextlib import closing, contextmanager
from dataclasses import dataclass
from pathlib import Path

from sqlalchemy.exc import SQLAlchemyError

from app.core.celery_queue import CeleryQueue
from app.core.db import migrate
from app.core.db.engine import Database
from app.core.errors import ConflictError, UnavailableError
from app.core.keys import ApiKeys
from app.core.settings import Settings
from app.core.telemetry.traces import check_traces
from app.up import address, valkey
from app.up.data_folder import locked_data_folder
from app.up.errors import StartError
from app.up.process import Program
from app.up.service import LocalService, api_program, stop_signal, worker_program


@dataclass(frozen=True)
class UpOptions:
    """Options of ``cnet up``. None: as the settings say."""

    host: str | None = None
    port: int | None = None
    data: Path | None = None
    workers: int = 1


def settings_for(options: UpOptions) -> Settings:
    """The settings of the environment, replaced by the options that are given."""
    chosen = {"host": options.host, "port": options.port, "data_dir": options.data}
    return Settings().model_copy(update={name: value for name, value in chosen.items() if value is not None})


def up(options: UpOptions, announce: Callable[[str], None]) -> None:
    """Run the service until SIGTERM, SIGINT or SIGHUP.

    Args:
        options: as on the command line.
        announce: called with the URL of the service once it accepts jobs.

    Raises:
        StartError: the service cannot be started; no process of it is left running.

    """
    settings = settings_for(options)
    _check_traces(settings)
    with stop_signal() as stop, locked_data_folder(settings.data_dir) as data:
        settings = settings.model_copy(update={"data_dir": data})
        with closing(address.listen(settings.host, settings.port)) as listening:
            url = address.url(settings.host, listening)
            settings = settings.model_copy(update={"port": listening.getsockname()[1]})
            with closing(_database(settings)) as database:
                _check_access(database, address.is_loopback(listening), settings.host)
                with _broker(settings) as (broker, environment):
                    programs = [api_program(listening, environment)]
                    programs += [worker_program(number + 1, environment) for number in range(options.workers)]
                    service = LocalService(data, listening, database, broker, programs, stop)
                    service.run(lambda: announce(url))


def _check_traces(settings: Settings) -> None:
    try:
        check_traces(settings)
    except ConflictError as error:
        raise StartError(error.detail, code=error.code) from error


def _database(settings: Settings) -> Database:
    detail = "the database cannot be upgraded. Check that CNET_DATABASE_URL is right and that the server answers."
    try:
        database = Database(settings.database)
    except (SQLAlchemyError, ImportError) as error:  # not a URL, or a database without an installed driver
        raise StartError(detail) from error
    try:
        migrate.upgrade(database)
    except (SQLAlchemyError, OSError) as error:
        database.close()
        raise StartError(detail) from error
    return database


def _check_access(database: Database, loopback: bool, host: str) -> None:
    if not loopback and not ApiKeys(database).exist():
        raise StartError(
            f"the server does not listen on {host} without API keys, since other machines could use it. Create a key"
            " with `cnet keys create --owner NAME` on the same data folder, then start again.",
            code="keys_needed",
        )


@contextmanager
def _broker(settings: Settings) -> Iterator[tuple[tuple[Program, Path] | None, dict[str, str]]]:
    """The program and socket of the private Valkey, None where a broker is named; and the environment of the rest."""
    if settings.broker_url:
        _check_broker(settings)
        yield None, settings.environment()
        return
    with valkey.socket_path(settings) as path:
        known = settings if path == settings.valkey_socket else _with_socket(settings, path)
        environment = known.environment()
        yield (valkey.program(settings, path, environment), path), environment


def _check_broker(settings: Settings) -> None:
    try:
        with closing(CeleryQueue(settings.broker)) as queue:
            queue.ping()
    except (UnavailableError, KeyError, ValueError) as error:  # no answer, an unknown transport, or a bad port
        raise StartError(
            "the broker does not answer. Check that CNET_BROKER_URL is right and that the broker runs."
        ) from error


def _with_socket(settings: Settings, path: Path) -> Settings:
    return settings.model_copy(update={"broker_url": f"redis+socket://{path}"})
