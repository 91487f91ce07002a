"""Bring a database to this release's tables, safely from several processes at once."""

from __future__ import annotations

import fcntl
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path

from alembic import command
from alembic.autogenerate import compare_metadata
from alembic.config import Config
from alembic.migration import MigrationContext
from alembic.script import ScriptDirectory
from sqlalchemy import Connection, text

from app.core.db.engine import Database
from app.core.db.tables import metadata
from app.core.errors import SchemaVersionError

VERSION_TABLE = "cnet_alembic_version"
_LOCK_KEY = 0x636E6574  # "cnet", for PostgreSQL's advisory lock


def upgrade(database: Database) -> None:
    """Apply all migrations that are not applied yet, under a lock."""
    with _exclusive(database) as connection:
        config = _config()
        config.attributes["connection"] = connection
        command.upgrade(config, "head")


def check(database: Database) -> None:
    """Raise SchemaVersionError unless the tables are exactly this release's."""
    with database.read() as connection:
        found = _context(connection).get_current_revision()
    expected = ScriptDirectory.from_config(_config()).get_current_head()
    if found != expected:
        raise SchemaVersionError(
            f"the database is at revision {found or 'none'}, this release needs {expected}: run `cnet db upgrade`"
        )


def differences(database: Database) -> list[object]:
    """What ``tables.py`` declares and the database lacks, or the other way round; empty when they agree."""
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
    """A connection that no other process migrates beside."""
    file = database.engine.url.database
    if database.engine.dialect.name == "sqlite" and file and file != ":memory:":
        with Path(f"{file}.lock").open("w") as lock:
            fcntl.flock(lock, fcntl.LOCK_EX)
            with database.write() as connection:
                yield connection
        return
    with database.write() as connection:
        if database.engine.dialect.name == "postgresql":
            connection.execute(text("SELECT pg_advisory_xact_lock(:key)"), {"key": _LOCK_KEY})
        yield connection
