"""SQLite databases with our tables, as copies of one that was migrated once in this process.

A migration of a new file takes longer than most tests do. What migrations do is the subject of ``test_migrate``.
"""

from __future__ import annotations

import tempfile
from functools import cache
from pathlib import Path

from app.core.db import migrate
from app.core.db.engine import Database


def add_tables(database: Database) -> None:
    """Give a database our tables: a file of SQLite that does not exist yet by a copy, any other by the migrations."""
    url = database.engine.url
    path = Path(url.database or "")
    if url.get_backend_name() != "sqlite" or not url.database or url.database == ":memory:" or path.exists():
        migrate.upgrade(database)
    else:
        path.write_bytes(_migrated())


@cache
def _migrated() -> bytes:
    """The file of a database to which all migrations were applied."""
    with tempfile.TemporaryDirectory() as folder:
        path = Path(folder) / "cnet.db"
        database = Database(f"sqlite:///{path}")
        migrate.upgrade(database)
        database.close()  # the last connection writes what is in the log into the file
        return path.read_bytes()
