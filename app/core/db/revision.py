"""Whether a database has the tables of this release. Servers check this when they start, and so without Alembic."""

from __future__ import annotations

from functools import cache
from pathlib import Path

from sqlalchemy import inspect, text

from app.core.db.engine import Database
from app.core.errors import SchemaVersionError

VERSION_TABLE = "cnet_alembic_version"
"""The table in which Alembic keeps the revision."""


@cache
def known_revisions() -> tuple[str, ...]:
    """The revisions that this release knows, oldest first; ``r0001_first_tables.py`` is revision ``0001``."""
    folder = Path(__file__).parent / "migrations" / "versions"
    return tuple(sorted(path.name[1:].partition("_")[0] for path in folder.glob("r*_*.py")))


def check(database: Database) -> None:
    """Check that the tables are those of this release. Raises SchemaVersionError where they are not."""
    found, expected = _current(database), known_revisions()[-1]
    if found is not None and found not in known_revisions():
        raise SchemaVersionError(
            f"database: it is at revision {found}, and this release knows revisions up to {expected}. Start the "
            "release that upgraded the database, or a later one."
        )
    if found != expected:
        raise SchemaVersionError(
            f"database: it is at revision {found or 'none'}, but this release needs {expected}. Run `cnet db upgrade`."
        )


def _current(database: Database) -> str | None:
    """The revision of a database; None: it has no tables of cnet."""
    with database.read() as connection:
        if not inspect(connection).has_table(VERSION_TABLE):
            return None
        found: str | None = connection.scalar(text(f"SELECT version_num FROM {VERSION_TABLE}"))  # noqa: S608 - a constant
        return found
