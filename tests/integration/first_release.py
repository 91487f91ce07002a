"""The data of a service of the first release: the rows of its database and its blobs, written once by that release.

``tests/golden/first_release`` holds what a server of the commit before the second migration had stored when all of its
processes were killed: jobs in every state, a checkpoint and a data set. Only one row was changed by hand: of the two
jobs that ran, one is ``cancelling``.
"""

from __future__ import annotations

import json
import shutil
from datetime import datetime
from pathlib import Path
from typing import Any

from sqlalchemy import Boolean, Connection, MetaData, Table, text
from sqlalchemy.types import DateTime

from app.core.db import migrate
from app.core.db.engine import Database
from app.core.settings import Settings
from tests.repository import ROOT

FOLDER = ROOT / "tests" / "golden" / "first_release"
JOBS: dict[str, str] = json.loads((FOLDER / "jobs.json").read_text())
"""The id of the job in each state; ``trained`` and ``succeeded`` have ended well."""

_ORDER = ("api_keys", "checkpoints", "datasets", "idempotency", "jobs", "events", "outbox", "points")


def write_first_release(settings: Settings) -> None:
    """Make a database with the tables of the first release and its rows, and its blobs in the data folder."""
    settings.data_dir.mkdir(exist_ok=True)
    shutil.copytree(FOLDER / "blobs", settings.data_dir / "blobs")
    database = Database(settings.database)
    try:
        migrate.upgrade(database, "0001")
        tables = MetaData()
        tables.reflect(database.engine)
        rows = json.loads((FOLDER / "rows.json").read_text())
        with database.write() as connection:
            for name in _ORDER:
                _insert(connection, tables.tables[name], rows[name])
            if connection.dialect.name == "postgresql":
                last = "SELECT setval(pg_get_serial_sequence('outbox', 'id'), (SELECT max(id) FROM outbox) + 1)"
                connection.execute(text(last))
    finally:
        database.close()


def _insert(connection: Connection, table: Table, rows: list[dict[str, Any]]) -> None:
    for row in rows:
        connection.execute(table.insert().values({name: _value(table, name, row[name]) for name in row}))


def _value(table: Table, column: str, stored: Any) -> Any:
    """The value of a column, from what SQLite had stored of it."""
    kind = table.columns[column].type
    if stored is None:
        return None
    if isinstance(kind, DateTime):
        return datetime.fromisoformat(stored + ("+00:00" if kind.timezone else ""))
    if isinstance(kind, Boolean):
        return bool(stored)
    return stored if not _is_json(kind) else json.loads(stored)


def _is_json(kind: object) -> bool:
    return type(kind).__name__ == "JSON"


def blobs() -> list[Path]:
    """The files of the blobs."""
    return sorted(path for path in (FOLDER / "blobs").rglob("*") if path.is_file())
