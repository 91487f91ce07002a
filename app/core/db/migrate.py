"""Migrate a database to the tables of this release. Several processes may try at the same time."""

from __future__ import annotations

import fcntl
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path

from alembic import command
from alembic.autogenerate import compare_metadata
from alembic.config import Config
from alembic.migration import MigrationContext
from sqlalchemy import Connection, text

from app.core.db.engine import Database
from app.core.db.revision import VERSION_TABLE
from app.core.db.tables import metadata
from app.core.errors import SchemaVersionError
from app.core.telemetry.logs import get_logger

log = get_logger(__name__)

_LOCK_KEY = 0x636E6574  # "cnet", for PostgreSQL's advisory lock


def upgrade(database: Database, revision: str = "head") -> None:
    """Apply the migrations up to ``revision`` that the database lacks, by default all, under a lock."""
    with _exclusive(database) as connection:
        config = _config()
        config.attributes["connection"] = connection
        before = _context(connection).get_current_revision()
        command.upgrade(config, revision)
        after = _context(connection).get_current_revision()
    if before != after:
        log.info("the database was upgraded", before=before, after=after)


def differences(database: Database) -> list[object]:
    """The differences between ``tables.py`` and the database, as Alembic lists them. For tests."""
    with database.read() as connection:
        return list(compare_metadata(_context(connection), metadata))


def _context(connection: Connection) -> MigrationContext:
    return MigrationContext.configure(connection, opts={"version_table": VERSION_TABLE})


def _config() -> Config:
    config = Config()
    config.set_main_option("script_location", "app.core.db:migrations")
    config.set_main_option("path_separator", "os")
    return config


@contextmanager
def _exclusive(database: Database) -> Iterator[Connection]:
    """A connection in a writing transaction, while no other process migrates the same database."""
    file = database.engine.url.database
    if database.engine.dialect.name == "sqlite" and file and file != ":memory:":
        with Path(f"{file}.lock").open("w") as lock:
            fcntl.flock(lock, fcntl.LOCK_EX)
            with _without_foreign_keys(database) as connection:
                yield connection
        return
    with database.write() as connection:
        if database.engine.dialect.name == "postgresql":
            connection.execute(text("SELECT pg_advisory_xact_lock(:key)"), {"key": _LOCK_KEY})
        yield connection


@contextmanager
def _without_foreign_keys(database: Database) -> Iterator[Connection]:
    """A writing transaction of SQLite that checks references at its end.

    SQLite changes a table by replacing it by a copy, and would refuse to drop one that rows of others refer to.
    """
    with database.engine.connect() as plain:
        plain.detach()  # it is closed afterwards: nobody else gets a connection without foreign keys
        raw = plain.connection.dbapi_connection
        if raw is not None:
            raw.cursor().execute("PRAGMA foreign_keys=OFF")  # has no effect once the transaction has begun
        connection = plain.execution_options(cnet_write=True)
        with connection.begin():
            yield connection
            broken = connection.execute(text("PRAGMA foreign_key_check")).all()
            if broken:
                raise SchemaVersionError(
                    f"database: {len(broken)} rows refer to rows that are missing, the first in table {broken[0][0]}. "
                    "Restore a backup and upgrade it."
                )
